#include "reports/history/seen_programs.h"

#include <gtest/gtest.h>

#include "harness/base/temp_dir.h"
#include "reports/history/history_fixture.h"

namespace proctor {
namespace {

using namespace testing_support;

RunResults run_of_program(int number, const std::vector<MadeCase>& cases, const std::string& sha256) {
  RunResults run = made_run(number, cases);
  run.programs.clear();
  for (const Variant& variant : run.variants)
    run.programs.push_back({variant.suite, variant.backend, sha256});
  return run;
}

void expect_only_one_seen(const SeenPrograms& seen) {
  EXPECT_EQ(seen.of("a/one", "old"), Sight::kSeen);
  EXPECT_EQ(seen.of("a/one", "new"), Sight::kChanged);
  EXPECT_EQ(seen.of("a/one", ""), Sight::kUnknown);
  EXPECT_EQ(seen.of("a/two", "old"), Sight::kNew) << "it was skipped";
  EXPECT_EQ(seen.of("a/three", "old"), Sight::kNew) << "it was not run";
  EXPECT_EQ(seen.of("a/four", "old"), Sight::kNew);
}

const std::vector<MadeCase> kOneExecuted = {
    {"a/one", Outcome::kFail}, {"a/three", Outcome::kNotrun}, {"a/two", Outcome::kSkip}};

TEST(SeenProgramsTest, OfARun) {
  expect_only_one_seen(seen_programs(run_of_program(1, kOneExecuted, "old")));
}

TEST(SeenProgramsTest, OfAHistory) {
  const TempDir directory("/dev/shm");
  History history =
      history_of((directory / "history.sqlite").string(), {run_of_program(1, kOneExecuted, "old")});
  const auto seen = seen_programs(history);
  ASSERT_TRUE(seen) << seen.error().what;
  expect_only_one_seen(*seen);
}

TEST(SeenProgramsTest, AnyRunOfAHistoryCounts) {
  const TempDir directory("/dev/shm");
  History history = history_of(
      (directory / "history.sqlite").string(),
      {run_of_program(1, {{"a/one"}}, "first"), run_of_program(2, {{"a/one"}, {"a/two"}}, "second")});
  const auto seen = seen_programs(history);
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_EQ(seen->of("a/one", "first"), Sight::kSeen);
  EXPECT_EQ(seen->of("a/one", "second"), Sight::kSeen);
  EXPECT_EQ(seen->of("a/two", "first"), Sight::kChanged);
}

TEST(SeenProgramsTest, AProgramWithoutADigestIsUnknown) {
  const SeenPrograms seen = seen_programs(run_of_program(1, {{"a/one"}}, ""));
  EXPECT_EQ(seen.of("a/one", "new"), Sight::kUnknown);
}

}  // namespace
}  // namespace proctor
