#include "harness/plan/scheduler_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace proctor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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

TEST(SchedulerShard, SchedulersSayWhichOneThisIs) {
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

TEST(SchedulerShard, ASlurmArrayWithoutGapsIsMappedDensely) {
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

// Were some tasks refused and others not, the others would run a plan that cannot become whole.
TEST(SchedulerShard, EveryTaskOfASlurmArrayWithGapsIsRefusedAlike) {
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

// GitLab counts from 1, the others from 0.
TEST(SchedulerShard, CiSystemsSayWhichOneThisIs) {
  EXPECT_EQ(*shard_of_environment({{"CI_NODE_INDEX", "1"}, {"CI_NODE_TOTAL", "3"}}), (Shard{1, 3}));
  EXPECT_EQ(*shard_of_environment({{"BUILDKITE_PARALLEL_JOB", "2"}, {"BUILDKITE_PARALLEL_JOB_COUNT", "3"}}),
            (Shard{3, 3}));
  EXPECT_EQ(*shard_of_environment({{"CIRCLE_NODE_INDEX", "0"}, {"CIRCLE_NODE_TOTAL", "2"}}), (Shard{1, 2}));
  EXPECT_THAT(refused({{"CI_NODE_INDEX", "0"}, {"CI_NODE_TOTAL", "3"}}), HasSubstr("CI_NODE_INDEX=0"));
  EXPECT_THAT(refused({{"CIRCLE_NODE_INDEX", "2"}}), HasSubstr("needs CIRCLE_NODE_TOTAL"));
}

TEST(SchedulerShard, ATaskOfASlurmStepIsAShard) {
  const Environment task = {{"SLURM_JOB_ID", "7"},
                            {"SLURM_STEP_ID", "0"},
                            {"SLURM_STEP_NUM_TASKS", "4"},
                            {"SLURM_NTASKS", "4"},
                            {"SLURM_PROCID", "3"}};
  EXPECT_EQ(*shard_of_environment(task), (Shard{4, 4}));
}

// Of `sbatch -n2` the script is task 0 of two, and the second one never starts.
TEST(SchedulerShard, ABatchScriptOfSeveralTasksIsNoneOfThem) {
  const auto shard = shard_of_environment({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}});
  ASSERT_FALSE(shard);
  EXPECT_THAT(shard.error().what, HasSubstr("SLURM_NTASKS=2"));
  EXPECT_THAT(shard.error().hint, HasSubstr("srun proctor run"));
}

TEST(SchedulerShard, OneOfOneSaysNothing) {
  Environment array = slurm_task(7, {5, 6, 7, 8}, 1);
  array.insert({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}});
  EXPECT_EQ(*shard_of_environment(array), (Shard{3, 4}));
  Environment one = slurm_task(7, {7}, 1);
  EXPECT_EQ(*shard_of_environment(one), (Shard{1, 1}));
  one.insert({{"CI_NODE_INDEX", "2"}, {"CI_NODE_TOTAL", "3"}});
  EXPECT_EQ(*shard_of_environment(one), (Shard{2, 3}));
}

TEST(SchedulerShard, TwoThatSayMoreAreRefused) {
  Environment both = slurm_task(7, {5, 6, 7, 8}, 1);
  both.insert({{"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_THAT(refused(both),
              AllOf(HasSubstr("SLURM_ARRAY_TASK_ID says 3/4"), HasSubstr("SLURM_PROCID says 2/2")));
  both["PROCTOR_SHARD"] = "1/8";
  EXPECT_EQ(*shard_of_environment(both), (Shard{1, 8}));
}

}  // namespace
}  // namespace proctor
