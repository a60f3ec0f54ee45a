#include "harness/base/failure_rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace proctor {
namespace {

TEST(FailureRate, ComputesWilsonInterval) {
  const RateInterval some = wilson_interval(2, 20);  // formula: Brown, Cai, DasGupta (2001), section 3.1.1
  EXPECT_NEAR(some.low, 0.0279, 0.0001);
  EXPECT_NEAR(some.high, 0.3010, 0.0001);
  EXPECT_EQ(wilson_interval(0, 10).low, 0);
  EXPECT_NEAR(wilson_interval(0, 10).high, 0.2775, 0.0001);
  EXPECT_EQ(wilson_interval(10, 10).high, 1);
  EXPECT_EQ(wilson_interval(0, 0).high, 1) << "nothing is known";
}

// At each bound of the interval, the first failure comes as early, or as late, with a probability of 2.5 %.
TEST(FailureRate, FirstFailureIntervalIsExact) {
  for (const int run : {2, 10, 459}) {
    const RateInterval interval = interval_of_first_failure(run);
    EXPECT_NEAR(1 - std::pow(1 - interval.low, run), 0.025, 1e-9) << run;
    EXPECT_NEAR(std::pow(1 - interval.high, run - 1), 0.025, 1e-9) << run;
  }
  EXPECT_NEAR(interval_of_first_failure(1).low, 0.025, 1e-9);
  EXPECT_EQ(interval_of_first_failure(1).high, 1);
}

TEST(FailureRate, ComputesFewestRunsToExcludeRate) {
  const auto runs = [](const char* text) { return runs_to_exclude(*parse_exclusion(text)); };
  EXPECT_EQ(runs("99%:1%"), 459);
  EXPECT_EQ(runs("90%:10%"), 22);
  EXPECT_EQ(runs("95%:5%"), 59);
  EXPECT_EQ(runs("75%:50%"), 2) << "a whole number";
  EXPECT_EQ(runs("10%:90%"), 1);
  for (const double rate : {0.5, 0.1, 0.01, 0.001}) {
    for (const double confidence : {0.5, 0.9, 0.99, 0.999}) {
      const int n = runs_to_exclude({confidence, rate});
      EXPECT_LE(std::pow(1 - rate, n), (1 - confidence) * (1 + 1e-6)) << confidence << ':' << rate;
      EXPECT_GT(std::pow(1 - rate, n - 1), (1 - confidence) * (1 - 1e-6)) << "fewer would do";
    }
  }
}

TEST(FailureRate, RejectsInvalidExclusion) {
  for (const char* text : {"",         "99%",       ":",       "99%:",      ":1%",     "0%:1%",    "100%:1%",
                           "99%:0%",   "99%:100%",  "99:1",    "99%:1%:2%", "%:%",     "-50%:10%", "nan%:10%",
                           "90%:inf%", "9,9%:0,1%", " 99%:1%", "99%%:1%",   "9e1%:1%", "0.99:0.01"}) {
    const auto parsed = parse_exclusion(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().what.find('`' + std::string(text) + '`'), std::string::npos)
        << parsed.error().what;
    EXPECT_NE(parsed.error().hint.find("99%:1%"), std::string::npos);
  }
  const auto many = parse_exclusion("99%:0.0001%");
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().what.find("4605168 runs"), std::string::npos) << many.error().what;
  EXPECT_TRUE(parse_exclusion("99%:0.001%"));
}

TEST(FailureRate, ParsesPercentagesToNearestNumber) {
  const auto exclusion = parse_exclusion("99.9%:0.1%");
  ASSERT_TRUE(exclusion);
  EXPECT_EQ(*exclusion, (Exclusion{.confidence = 0.999, .rate = 0.001}));
}

TEST(FailureRate, InvalidNumbersTakeMaximumRuns) {
  for (const double strange : {-1.0, 0.0, 1.0, 2.0, std::nan("")}) {
    EXPECT_EQ(runs_to_exclude({strange, 0.01}), kMostExclusionRuns) << strange;
    EXPECT_EQ(runs_to_exclude({0.99, strange}), kMostExclusionRuns) << strange;
  }
}

TEST(FailureRate, FirstFailureEndsClaim) {
  EXPECT_EQ(claim_of(459, 458, 0), Claim::kOpen);
  EXPECT_EQ(claim_of(459, 459, 0), Claim::kExcluded);
  EXPECT_EQ(claim_of(459, 1, 1), Claim::kNotExcluded);
  EXPECT_EQ(claim_of(459, 459, 1), Claim::kNotExcluded);
}

TEST(FailureRate, FormatsPercentagesWithTwoDigits) {
  EXPECT_EQ(percent_text(0), "0");
  EXPECT_EQ(percent_text(0.01), "1");
  EXPECT_EQ(percent_text(0.025), "2.5");
  EXPECT_EQ(percent_text(0.0086), "0.86");
  EXPECT_EQ(percent_text(0.00055), "0.055");
  EXPECT_EQ(percent_text(0.99), "99");
  EXPECT_EQ(percent_text(0.5), "50");
  EXPECT_EQ(percent_text(1), "100");
}

}  // namespace
}  // namespace proctor
