#include "harness/plan/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

namespace proctor {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

std::string id(int number) { return "memory.xpu/Copy.Case" + std::to_string(number); }

TEST(Shard, ShardsHaveSimilarSizes) {
  for (const int count : {2, 3, 7, 16}) {
    std::vector<int> sizes(static_cast<std::size_t>(count));
    constexpr int kCases = 16'000;
    for (int i = 0; i < kCases; ++i) ++sizes.at(static_cast<std::size_t>(shard_of(id(i), count) - 1));
    for (const int size : sizes) EXPECT_NEAR(size, kCases / count, kCases / count / 5) << count;
  }
}

TEST(Shard, CasesMoveOnlyToAddedShard) {
  for (int count = 1; count < 12; ++count) {
    int moved = 0;
    for (int i = 0; i < 1000; ++i) {
      const int before = shard_of(id(i), count);
      const int after = shard_of(id(i), count + 1);
      if (before == after) continue;
      EXPECT_EQ(after, count + 1);
      ++moved;
    }
    EXPECT_GT(moved, 0);
  }
}

// Another program computed these values from the description in the header. A changed hash would break
// running series.
TEST(Shard, TheHashIsFixed) {
  EXPECT_EQ(shard_of("", 4), 1);
  EXPECT_EQ(shard_of("a", 4), 2);
  EXPECT_EQ(shard_of("memory.xpu/Copy.HostToDeviceIsByteExact", 4), 3);
  EXPECT_EQ(shard_of("memory.xpu/Copy.HostToDeviceIsByteExact", 256), 159);
}

TEST(Shard, ParsesOnlyValidShards) {
  EXPECT_EQ(*parse_shard("1/1"), (Shard{1, 1}));
  EXPECT_EQ(*parse_shard("10000/10000"), (Shard{10'000, 10'000}));
  for (const char* bad : {"0/3", "4/3", "1/0", "", "1", "/", "1/", "/2", "-1/2", "+1/2", "1/2/3", "a/b",
                          "1 /2", "1/99999999999999999999", "1/10001", "1.0/2"}) {
    const auto shard = parse_shard(bad);
    ASSERT_FALSE(shard) << bad;
    EXPECT_EQ(shard.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(shard.error().what, HasSubstr(bad));
  }
}

// Returns a plan in which case i belongs to suite i % suites and is named after its number.
Plan plan_with(std::size_t cases, std::size_t suites = 1) {
  Plan plan;
  plan.suites.resize(suites);
  for (std::size_t i = 0; i < cases; ++i) {
    Case test;
    test.id = "s/" + std::to_string(i);
    test.suite = i % suites;
    plan.cases.push_back(test);
  }
  return plan;
}

std::vector<int> shards_of_cases(const Plan& plan) {
  std::vector<int> shards;
  for (const Case& test : plan.cases) shards.push_back(test.shard);
  return shards;
}

// Returns a duration for each of 1,000 cases.
std::map<std::string, double> trace(const std::function<double(std::mt19937&)>& ms) {
  std::mt19937 random(7);
  std::map<std::string, double> durations;
  for (int i = 0; i < 1000; ++i) durations["s/" + std::to_string(i)] = ms(random);
  return durations;
}

TEST(Balance, ShardsAreCloseToMeanDuration) {
  const std::vector<std::map<std::string, double>> traces = {
      trace([](std::mt19937& random) { return std::uniform_real_distribution(1.0, 1000.0)(random); }),
      trace([](std::mt19937& random) { return std::lognormal_distribution(6.0, 2.0)(random); }),
      // A few cases take a minute, and many take a second.
      trace([](std::mt19937& random) { return random() % 50 == 0 ? 60'000.0 : 1000.0; })};
  for (const auto& durations : traces) {
    for (const int count : {2, 4, 7, 16}) {
      Plan plan = plan_with(1000);
      const Balance balance = balance_shards(plan, count, durations);
      std::vector<double> shards(static_cast<std::size_t>(count));
      double longest_case = 0;
      for (const Case& test : plan.cases) {
        shards.at(static_cast<std::size_t>(test.shard - 1)) += durations.at(test.id);
        longest_case = std::max(longest_case, durations.at(test.id));
      }
      const double mean = std::accumulate(shards.begin(), shards.end(), 0.0) / count;
      EXPECT_LE(*std::ranges::max_element(shards), std::max(1.1 * mean, longest_case)) << count;
      EXPECT_THAT(balance.shard_ms, Pointwise(DoubleNear(0.001), shards));
      EXPECT_EQ(balance.unknown, 0u);
    }
  }
}

TEST(Balance, UsesSuiteMedianForUnknownDurations) {
  Plan plan = plan_with(8, 2);  // suite 0: 0 2 4 6; suite 1: 1 3 5 7
  const Balance balance = balance_shards(plan, 2, {{"s/0", 10}, {"s/2", 10}, {"s/4", 100}});
  EXPECT_EQ(balance.unknown, 5u);
  // The sum is 10 + 10 + 100 + 10, and 4 times the median of the plan, 10.
  EXPECT_EQ(balance.shard_ms[0] + balance.shard_ms[1], 170);
  EXPECT_EQ(std::max(balance.shard_ms[0], balance.shard_ms[1]), 100);
}

TEST(Balance, WithoutDurationsSplitsByCaseCount) {
  Plan plan = plan_with(10);
  balance_shards(plan, 3, {});
  std::vector<std::ptrdiff_t> sizes;
  for (const int shard : {1, 2, 3}) sizes.push_back(std::ranges::count(shards_of_cases(plan), shard));
  EXPECT_THAT(sizes, ElementsAre(4, 3, 3));
  Plan instant = plan_with(9);
  std::map<std::string, double> nothing;
  for (const Case& test : instant.cases) nothing[test.id] = 0;
  balance_shards(instant, 3, nothing);
  for (const int shard : {1, 2, 3}) EXPECT_EQ(std::ranges::count(shards_of_cases(instant), shard), 3);
}

TEST(Balance, IsIndependentOfCaseOrder) {
  const auto durations = trace([](std::mt19937& random) { return static_cast<double>(random() % 5); });
  Plan plan = plan_with(1000);
  Plan other = plan_with(1000);
  std::ranges::reverse(other.cases);
  balance_shards(plan, 4, durations);
  balance_shards(other, 4, durations);
  std::ranges::reverse(other.cases);
  EXPECT_EQ(shards_of_cases(plan), shards_of_cases(other));
}

TEST(Balance, ShardKeepsOnlyAssignedCases) {
  Plan plan = plan_with(10);
  balance_shards(plan, 3, {{"s/4", 1000}});
  std::size_t cases = 0;
  for (int index = 1; index <= 3; ++index) {
    Plan part = plan;
    ASSERT_TRUE(keep_shard({index, 3}, part));
    for (const Case& test : part.cases) EXPECT_EQ(test.shard, index);
    cases += part.cases.size();
  }
  EXPECT_EQ(cases, 10u);
  const auto refused = keep_shard({1, 4}, plan);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("--shard 1/4: the plan is balanced for 3 shards"));
  EXPECT_TRUE(keep_shard({1, 1}, plan));
  EXPECT_EQ(plan.cases.size(), 10u);
}

using Environment = std::map<std::string, std::string>;

Environment slurm_task(int id, const std::vector<int>& ids, int step) {
  return {{"SLURM_ARRAY_TASK_ID", std::to_string(id)},
          {"SLURM_ARRAY_TASK_MIN", std::to_string(ids.front())},
          {"SLURM_ARRAY_TASK_MAX", std::to_string(ids.back())},
          {"SLURM_ARRAY_TASK_STEP", std::to_string(step)},
          {"SLURM_ARRAY_TASK_COUNT", std::to_string(ids.size())}};
}

std::string refused(const Environment& environment) {
  const auto shard = shard_of_environment(environment);
  return shard ? "" : shard.error().what;
}

TEST(SchedulerShard, ReadsShardFromSchedulerVariables) {
  const Environment slurm = slurm_task(7, {5, 6, 7, 8}, 1);
  EXPECT_EQ(*shard_of_environment(slurm), (Shard{3, 4}));
  EXPECT_EQ(*shard_of_environment({{"JOB_COMPLETION_INDEX", "0"}, {"PROCTOR_SHARD_COUNT", "3"}}),
            (Shard{1, 3}));
  Environment both = slurm;
  both["PROCTOR_SHARD"] = "2/9";
  EXPECT_EQ(*shard_of_environment(both), (Shard{2, 9}));

  EXPECT_THAT(refused({}), HasSubstr("needs PROCTOR_SHARD, or the variables of Slurm"));
  EXPECT_THAT(refused({{"PROCTOR_SHARD", "5/4"}}), HasSubstr("PROCTOR_SHARD: --shard 5/4"));
  EXPECT_THAT(refused({{"JOB_COMPLETION_INDEX", "1"}}), HasSubstr("needs PROCTOR_SHARD_COUNT"));
  EXPECT_THAT(refused({{"JOB_COMPLETION_INDEX", "3"}, {"PROCTOR_SHARD_COUNT", "3"}}),
              HasSubstr("shard 4 of 3"));
  EXPECT_THAT(refused({{"JOB_COMPLETION_INDEX", "x"}, {"PROCTOR_SHARD_COUNT", "3"}}),
              HasSubstr(" must be a number (got x)"));
  for (const char* name : {"SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_COUNT"}) {
    Environment without = slurm;
    without.erase(name);
    EXPECT_THAT(refused(without), HasSubstr("needs " + std::string(name)));
  }
}

TEST(SchedulerShard, MapsSlurmArrayWithoutGaps) {
  for (const auto& [ids, step] : {std::pair<std::vector<int>, int>{{1, 2, 3}, 1},
                                  {{0, 1, 2, 3}, 1},
                                  {{2, 4, 6, 8}, 2},
                                  {{7}, 1},
                                  {{10, 110, 210}, 100}}) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(*shard_of_environment(slurm_task(ids[i], ids, step)),
                (Shard{static_cast<int>(i) + 1, static_cast<int>(ids.size())}));
    }
  }
}

// If only some tasks were refused, the other tasks would run a plan that can never be complete.
TEST(SchedulerShard, RejectsEveryTaskOfArrayWithGaps) {
  for (const auto& [ids, step] : {std::pair<std::vector<int>, int>{{1, 3, 7}, 1},
                                  {{1, 3, 7}, 2},
                                  {{5, 6, 7, 20}, 1},
                                  {{1, 2, 4}, 1},
                                  {{0, 5, 7}, 5}}) {
    const std::string first = refused(slurm_task(ids.front(), ids, step));
    EXPECT_THAT(first, HasSubstr(std::to_string(ids.size()) + " tasks"));
    EXPECT_THAT(first,
                HasSubstr("from " + std::to_string(ids.front()) + " to " + std::to_string(ids.back())));
    for (const int id : ids) EXPECT_EQ(refused(slurm_task(id, ids, step)), first);
  }
  EXPECT_THAT(refused(slurm_task(4, {1, 3, 5}, 2)), HasSubstr("does not contain SLURM_ARRAY_TASK_ID=4"));
  EXPECT_THAT(refused(slurm_task(9, {1, 3, 5}, 2)), HasSubstr("does not contain SLURM_ARRAY_TASK_ID=9"));
  EXPECT_THAT(refused(slurm_task(1, {1, 2}, 0)),
              HasSubstr("SLURM_ARRAY_TASK_STEP must be greater than zero"));
}

// GitLab counts from 1. The other services count from 0.
TEST(SchedulerShard, ReadsShardFromCiVariables) {
  EXPECT_EQ(*shard_of_environment({{"CI_NODE_INDEX", "1"}, {"CI_NODE_TOTAL", "3"}}), (Shard{1, 3}));
  EXPECT_EQ(*shard_of_environment({{"BUILDKITE_PARALLEL_JOB", "2"}, {"BUILDKITE_PARALLEL_JOB_COUNT", "3"}}),
            (Shard{3, 3}));
  EXPECT_EQ(*shard_of_environment({{"CIRCLE_NODE_INDEX", "0"}, {"CIRCLE_NODE_TOTAL", "2"}}), (Shard{1, 2}));
  EXPECT_THAT(refused({{"CI_NODE_INDEX", "0"}, {"CI_NODE_TOTAL", "3"}}), HasSubstr("CI_NODE_INDEX=0"));
  EXPECT_THAT(refused({{"CIRCLE_NODE_INDEX", "2"}}), HasSubstr("needs CIRCLE_NODE_TOTAL"));
}

TEST(SchedulerShard, ReadsShardFromSlurmStep) {
  const Environment task = {{"SLURM_JOB_ID", "7"},
                            {"SLURM_STEP_ID", "0"},
                            {"SLURM_STEP_NUM_TASKS", "4"},
                            {"SLURM_NTASKS", "4"},
                            {"SLURM_PROCID", "3"}};
  EXPECT_EQ(*shard_of_environment(task), (Shard{4, 4}));
}

// The script of `sbatch -n2` is task 0 of two, and the second task never starts.
TEST(SchedulerShard, RejectsBatchScriptOfSeveralTasks) {
  const auto shard = shard_of_environment({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}});
  ASSERT_FALSE(shard);
  EXPECT_THAT(shard.error().what, HasSubstr("SLURM_NTASKS=2"));
  EXPECT_THAT(shard.error().hint, HasSubstr("srun proctor run"));
}

TEST(SchedulerShard, IgnoresSchedulerWithSingleTask) {
  Environment array = slurm_task(7, {5, 6, 7, 8}, 1);
  array.insert({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}});
  EXPECT_EQ(*shard_of_environment(array), (Shard{3, 4}));
  Environment one = slurm_task(7, {7}, 1);
  EXPECT_EQ(*shard_of_environment(one), (Shard{1, 1}));
  one.insert({{"CI_NODE_INDEX", "2"}, {"CI_NODE_TOTAL", "3"}});
  EXPECT_EQ(*shard_of_environment(one), (Shard{2, 3}));
}

TEST(SchedulerShard, RejectsTwoConflictingShards) {
  Environment both = slurm_task(7, {5, 6, 7, 8}, 1);
  both.insert({{"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_THAT(refused(both),
              AllOf(HasSubstr("SLURM_ARRAY_TASK_ID says 3/4"), HasSubstr("SLURM_PROCID says 2/2")));
  both["PROCTOR_SHARD"] = "1/8";
  EXPECT_EQ(*shard_of_environment(both), (Shard{1, 8}));
}

}  // namespace

}  // namespace proctor
