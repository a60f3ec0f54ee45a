// Tests of the rule `--repeat 99%:1%` as a run applies it: CaseProgress repeats a case, and claim_of() computes the
// claim. Many simulated cases with known failure rates show how often the claim is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "harness/base/failure_rate.h"
#include "harness/runner/attempt/case_progress.h"

namespace proctor {
namespace {

constexpr int kSequences = 10'000;
constexpr std::uint64_t kSeed = 1;

struct Series {
  int runs = 0;
  int failures = 0;
};

// Runs one case that fails with this probability, as often as the rule requires.
Series run_one(double rate, int needed, std::mt19937_64& chance) {
  std::bernoulli_distribution fails(rate);
  CaseProgress progress({.repeat = needed, .until_fail = true});
  Series series;
  for (auto next = CaseProgress::Next::kRepeat; next != CaseProgress::Next::kDone;) {
    const bool bad = fails(chance);
    ++series.runs;
    series.failures += bad ? 1 : 0;
    next = progress.add({bad ? Outcome::kFail : Outcome::kPass, {}}, {}, false);
  }
  return series;
}

struct Counted {
  int excluded = 0;
  int not_excluded = 0;
  int open = 0;
  int outside = 0;  // outside the interval of a case that is not excluded
};

Counted count(double rate, int needed) {
  std::mt19937_64 chance(kSeed);
  Counted counted;
  for (int i = 0; i < kSequences; ++i) {
    const Series series = run_one(rate, needed, chance);
    switch (claim_of(needed, series.runs, series.failures)) {
      case Claim::kExcluded:
        ++counted.excluded;
        break;
      case Claim::kNotExcluded: {
        ++counted.not_excluded;
        const RateInterval interval = interval_of_first_failure(series.runs);
        counted.outside += rate < interval.low || rate > interval.high ? 1 : 0;
        break;
      }
      case Claim::kOpen:
        ++counted.open;
    }
  }
  return counted;
}

// Returns an upper limit of a count. If each sequence has the probability `share`, chance exceeds this limit at most
// once in 1000.
double most_by_chance(double share) {
  constexpr double kOnceInAThousand = 3.1;  // standard deviations, one-sided
  return kSequences * share + kOnceInAThousand * std::sqrt(kSequences * share * (1 - share));
}

TEST(Exclusion, FalseExclusionRateStaysBelowOnePercent) {
  const int needed = runs_to_exclude({.confidence = 0.99, .rate = 0.01});
  ASSERT_EQ(needed, 459);
  for (const double rate : {0.01, 0.02, 0.1}) {
    const Counted counted = count(rate, needed);
    RecordProperty("excluded_at_" + std::to_string(rate), counted.excluded);
    EXPECT_EQ(counted.open, 0);
    EXPECT_LE(counted.excluded, most_by_chance(0.01)) << rate;
    EXPECT_LE(counted.excluded, most_by_chance(std::pow(1 - rate, needed)) + 1)
        << "and as rarely as computed";
    EXPECT_LE(counted.outside, most_by_chance(0.05)) << rate;
  }
}

TEST(Exclusion, NeverFailingCaseIsAlwaysExcluded) {
  const Counted counted = count(0, runs_to_exclude({.confidence = 0.99, .rate = 0.01}));
  EXPECT_EQ(counted.not_excluded, 0);
  EXPECT_EQ(counted.excluded, kSequences);
}

// The rate is half of the limit, so an exclusion is correct, but few cases reach it: 459 runs pass with a probability
// of 10.0 %.
TEST(Exclusion, ExclusionRateMatchesPassProbability) {
  const Counted counted = count(0.005, 459);
  RecordProperty("excluded_at_0.005000", counted.excluded);
  EXPECT_NEAR(counted.excluded, kSequences * std::pow(0.995, 459), 100);
  EXPECT_EQ(counted.excluded + counted.not_excluded, kSequences);
}

}  // namespace
}  // namespace proctor
