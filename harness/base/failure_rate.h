// How often something fails: the interval of a rate, and how many runs without a failure exclude one. Pure arithmetic.
// Example:
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

// From 0 to 1.
struct RateInterval {
  double low = 0;
  double high = 1;
};

// Of 95 %, by Wilson's score, for `failures` among `runs` whose number does not depend on the failures. Nothing is known
// of no runs.
RateInterval wilson_interval(int failures, int runs);

// Of 95 %, exact, for runs that ended with their first failure, which was number `run`. Wilson's would be too narrow: it
// takes the number of runs for given, and a rate of 1 % would be outside of it in 16 of 100 such series.
RateInterval interval_of_first_failure(int run);

// That something fails in `rate` of its runs or more is to be excluded with `confidence`. Both are between
// 0 and 1.
struct Exclusion {
  double confidence = 0;
  double rate = 0;

  friend bool operator==(const Exclusion&, const Exclusion&) = default;
};

inline constexpr int kMostExclusionRuns = 1'000'000;

// "99%:1%", with at most kMostExclusionRuns.
Result<Exclusion> parse_exclusion(std::string_view text);

// The least number of runs that have no failure with a probability of at most 1 - confidence, if the rate is as given.
int runs_to_exclude(const Exclusion& exclusion);

enum class Claim {
  kOpen,         // too few runs so far
  kExcluded,     // as many runs as needed, and none failed
  kNotExcluded,  // the first failure ends it
};
std::string_view to_string(Claim claim);  // "open", "excluded", "not_excluded"
Claim claim_of(int needed, int runs, int failures);

// For people, without the sign: "0", "0.86", "2.5", "37", "100".
std::string percent_text(double share);

}  // namespace proctor
