#include "reports/resolve/case_past.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

PastOutcome outcome(std::uint32_t run, ResultClass result_class, bool flaky = false) {
  return {.run = run, .outcome = Outcome::kPass, .result_class = result_class, .flaky = flaky};
}

CasePast past_with(const std::vector<PastOutcome>& outcomes) {
  Past past;
  past.runs = {{.run_id = "r0", .commit = "0123456789abcdef"}, {.run_id = "r1"}, {.run_id = "r2"}};
  past.cases = {outcomes};
  return case_past("s/a", 0, past);
}

TEST(CasePast, FailureAfterPassIsNew) {
  const CasePast past = past_with({outcome(0, ResultClass::kPassing), outcome(1, ResultClass::kPassing)});
  EXPECT_TRUE(is_new(past));
  EXPECT_EQ(past.passed, "r1");
  EXPECT_EQ(age_text(past), "NEW: passed in r1");
}

TEST(CasePast, FailureOfFlakyCaseIsNotNew) {
  const CasePast failed = past_with({outcome(0, ResultClass::kFailing), outcome(1, ResultClass::kPassing)});
  EXPECT_FALSE(is_new(failed));
  EXPECT_EQ(failed.failing_runs, 0);
  EXPECT_EQ(age_text(failed), "flaky in 1 of 2 earlier runs, passed in r1");
  const CasePast flaky = past_with({outcome(0, ResultClass::kPassing, true)});
  EXPECT_FALSE(is_new(flaky));
  const CasePast expected = past_with({outcome(0, ResultClass::kExpected), outcome(1, ResultClass::kNotrun)});
  EXPECT_FALSE(is_new(expected));
  EXPECT_EQ(age_text(expected), "flaky in 1 of 1 earlier run");
}

TEST(CasePast, StreakSpansUnexecutedRuns) {
  const CasePast past = past_with({outcome(0, ResultClass::kFailing), outcome(1, ResultClass::kNotrun),
                                   outcome(2, ResultClass::kFailing)});
  EXPECT_FALSE(is_new(past));
  EXPECT_EQ(age_text(past), "first failed in 0123456789ab (3 runs)");
}

TEST(CasePast, ExpectedFailureEndsStreak) {
  const CasePast past = past_with({outcome(0, ResultClass::kFailing), outcome(1, ResultClass::kExpected),
                                   outcome(2, ResultClass::kFailing)});
  EXPECT_EQ(past.failing_runs, 1);
  EXPECT_EQ(past.since, "r2");
}

TEST(CasePast, CountsFlakyRuns) {
  const CasePast past = past_with({outcome(0, ResultClass::kPassing, true), outcome(1, ResultClass::kPassing),
                                   outcome(2, ResultClass::kPassing, true)});
  EXPECT_EQ(flaky_text(past), "flaky in 2 of 3 earlier runs");
}

TEST(CasePast, CaseWithoutHistoryIsNew) { EXPECT_TRUE(is_new(past_with({}))); }

}  // namespace
}  // namespace proctor
