// Statistics of intermittent failures: the confidence interval of a failure rate, and the number of runs
// without a failure that excludes a rate. The functions are pure arithmetic. Example:
//
//   const auto goal = parse_exclusion("99%:1%");
//   const int runs = runs_to_exclude(*goal);               // 459
//   const Claim claim = claim_of(runs, 459, 0);            // Claim::kExcluded
//   const RateInterval rate = wilson_interval(3, 120);     // 0.009 to 0.071
#pragma once

#include <string>
#include <string_view>

#include "harness/base/result.h"

namespace proctor {

// A confidence interval of a failure rate, from 0 to 1.
struct RateInterval {
  double low = 0;
  double high = 1;
};

// Returns the 95 % interval by Wilson's score, for `failures` among `runs`. The number of runs must not
// depend on the failures. If `runs` is 0, the interval is 0 to 1.
RateInterval wilson_interval(int failures, int runs);

// Returns the exact 95 % interval for a series that ended with its first failure, which was number `run`.
// Wilson's interval would be too narrow: it assumes a fixed number of runs. In 16 of 100 such series, it does
// not contain a rate of 1 %.
RateInterval interval_of_first_failure(int run);

// A goal: to exclude, with `confidence`, that something fails in `rate` of its runs or more. Both values are
// between 0 and 1.
struct Exclusion {
  double confidence = 0;
  double rate = 0;

  friend bool operator==(const Exclusion&, const Exclusion&) = default;
};

inline constexpr int kMostExclusionRuns = 1'000'000;

// Parses "99%:1%". A goal that needs more than kMostExclusionRuns is an error.
Result<Exclusion> parse_exclusion(std::string_view text);

// Returns the number of runs after which the goal is reached without a failure. It is the least number for
// which such a series has a probability of at most 1 - confidence at the given rate.
int runs_to_exclude(const Exclusion& exclusion);

enum class Claim {
  kOpen,         // there were too few runs
  kExcluded,     // all needed runs passed
  kNotExcluded,  // a run failed
};
std::string_view to_string(Claim claim);  // "open", "excluded", "not_excluded"
Claim claim_of(int needed, int runs, int failures);

// Returns a percentage without the sign, for output: "0", "0.86", "2.5", "37", "100".
std::string percent_text(double share);

}  // namespace proctor
