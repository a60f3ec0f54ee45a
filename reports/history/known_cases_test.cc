#include "reports/history/known_cases.h"

#include <gmock/gmock.h>
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

TEST(SeenProgramsTest, ReadsSeenProgramsOfRun) {
  expect_only_one_seen(seen_programs(run_of_program(1, kOneExecuted, "old")));
}

TEST(SeenProgramsTest, ReadsSeenProgramsOfHistory) {
  const TempDir directory("/dev/shm");
  History history =
      history_of((directory / "history.sqlite").string(), {run_of_program(1, kOneExecuted, "old")});
  const auto seen = seen_programs(history);
  ASSERT_TRUE(seen) << seen.error().what;
  expect_only_one_seen(*seen);
}

TEST(SeenProgramsTest, UsesAllRunsOfHistory) {
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

TEST(SeenProgramsTest, ProgramWithoutDigestIsUnknown) {
  const SeenPrograms seen = seen_programs(run_of_program(1, {{"a/one"}}, ""));
  EXPECT_EQ(seen.of("a/one", "new"), Sight::kUnknown);
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Timed {
  std::string id{};
  std::int64_t duration_ms = 0;
  Outcome outcome = Outcome::kPass;
};

RunResults timed_run(int number, const std::vector<Timed>& cases) {
  std::vector<MadeCase> made;
  for (const Timed& each : cases) made.push_back({each.id, each.outcome});
  RunResults run = made_run(number, made);
  for (std::size_t i = 0; i < cases.size(); ++i) run.cases[i].duration_ms = cases[i].duration_ms;
  return run;
}

class MedianDurationsTest : public testing::Test {
 protected:
  std::map<std::string, double> medians(const std::vector<RunResults>& runs, std::size_t newest = 10) {
    History history = history_of((directory_ / "history.sqlite").string(), runs);
    const auto found = median_durations(history, newest);
    EXPECT_TRUE(found) << found.error().what;
    return found ? *found : std::map<std::string, double>();
  }

 private:
  const TempDir directory_{"/dev/shm"};
};

TEST_F(MedianDurationsTest, HandlesOddAndEvenCounts) {
  EXPECT_THAT(medians({timed_run(1, {{"a/one", 10}, {"a/two", 3}}),
                       timed_run(2, {{"a/one", 40}, {"a/two", 6}}), timed_run(3, {{"a/one", 20}})}),
              ElementsAre(Pair("a/one", 20.0), Pair("a/two", 4.5)));
}

TEST_F(MedianDurationsTest, CountsExecutedResultsOnly) {
  EXPECT_THAT(
      medians({timed_run(1, {{"a/one", 10}, {"a/two", 5, Outcome::kSkip}}),
               timed_run(2, {{"a/one", 90, Outcome::kTimeout}, {"a/two", 5, Outcome::kNotrun}}),
               timed_run(3, {{"a/one", 0, Outcome::kNotrun}}), timed_run(4, {{"a/one", 0, Outcome::kSkip}})}),
      ElementsAre(Pair("a/one", 50.0)));
}

TEST_F(MedianDurationsTest, UsesNewestRuns) {
  EXPECT_THAT(medians({timed_run(4, {{"a/one", 4}}), timed_run(1, {{"a/one", 1000}}),
                       timed_run(3, {{"a/one", 3}}), timed_run(2, {{"a/one", 2}})},
                      3),
              ElementsAre(Pair("a/one", 3.0)));
}

// Each shard runs a part of the cases, so the ten results of each case may be in many more than ten runs.
TEST_F(MedianDurationsTest, CoversAllShards) {
  std::vector<RunResults> runs;
  for (int i = 0; i < 8; ++i) runs.push_back(timed_run(i + 1, {{"a/" + std::to_string(i % 4), i}}));
  EXPECT_THAT(medians(runs, 2),
              ElementsAre(Pair("a/0", 2.0), Pair("a/1", 3.0), Pair("a/2", 4.0), Pair("a/3", 5.0)));
}

TEST_F(MedianDurationsTest, IsEmptyWithoutExecutedResults) {
  EXPECT_THAT(medians({timed_run(1, {{"a/one", 5, Outcome::kSkip}})}), IsEmpty());
}

}  // namespace

}  // namespace proctor
