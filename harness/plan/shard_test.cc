#include "harness/plan/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace proctor {
namespace {

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

std::string id(int number) { return "memory.xpu/Copy.Case" + std::to_string(number); }

TEST(Shard, EveryShardIsAboutAsLarge) {
  for (const int count : {2, 3, 7, 16}) {
    std::vector<int> sizes(static_cast<std::size_t>(count));
    constexpr int kCases = 16'000;
    for (int i = 0; i < kCases; ++i) ++sizes.at(static_cast<std::size_t>(shard_of(id(i), count) - 1));
    for (const int size : sizes) EXPECT_NEAR(size, kCases / count, kCases / count / 5) << count;
  }
}

TEST(Shard, WithOneMoreShardCasesMoveToItAlone) {
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

// Computed from the description in the header by another program; a change would tear running series apart.
TEST(Shard, TheHashIsFixed) {
  EXPECT_EQ(shard_of("", 4), 1);
  EXPECT_EQ(shard_of("a", 4), 2);
  EXPECT_EQ(shard_of("memory.xpu/Copy.HostToDeviceIsByteExact", 4), 3);
  EXPECT_EQ(shard_of("memory.xpu/Copy.HostToDeviceIsByteExact", 256), 159);
}

TEST(Shard, ReadsOnlyWhatThereCanBe) {
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

TEST(Shard, SchedulersSayWhichOneThisIs) {
  const Environment slurm = slurm_task(7, {5, 6, 7, 8}, 1);
  EXPECT_EQ(*shard_of_environment(slurm), (Shard{3, 4}));
  EXPECT_EQ(*shard_of_environment({{"JOB_COMPLETION_INDEX", "0"}, {"PROCTOR_SHARD_COUNT", "3"}}),
            (Shard{1, 3}));
  Environment both = slurm;
  both["PROCTOR_SHARD"] = "2/9";
  EXPECT_EQ(*shard_of_environment(both), (Shard{2, 9}));

  EXPECT_THAT(refused({}), HasSubstr("needs PROCTOR_SHARD, SLURM_ARRAY_TASK_ID"));
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

TEST(Shard, ASlurmArrayWithoutGapsIsMappedDensely) {
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
TEST(Shard, EveryTaskOfASlurmArrayWithGapsIsRefusedAlike) {
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

}  // namespace
}  // namespace proctor
