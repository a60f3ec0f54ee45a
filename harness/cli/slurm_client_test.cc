#include "harness/cli/slurm_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor::cli {
namespace {

using ::testing::HasSubstr;

TEST(SlurmJob, ParsesNumberFromSbatchOutput) {
  const auto job = parse_job("4711\n");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->id, "4711");
  EXPECT_EQ(job->cluster, "");
}

TEST(SlurmJob, ParsesClusterName) {
  const auto job = parse_job("4711;east\n");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->id, "4711");
  EXPECT_EQ(job->cluster, "east");
}

// A site's plug-in may print its own lines first.
TEST(SlurmJob, IsReadFromLastLine) {
  const auto job = parse_job("Account a is charged.\n4711\n");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->id, "4711");
}

TEST(SlurmJob, RejectsOutputWithoutNumber) {
  for (const char* text : {"", "\n", "Submitted batch job 4711\n", "47x\n"}) {
    const auto job = parse_job(text);
    ASSERT_FALSE(job) << text;
    EXPECT_EQ(job.error().kind, ErrorKind::kSystem);
    EXPECT_THAT(job.error().message(), HasSubstr("no number"));
  }
}

TEST(SlurmTasks, ParsesOneTaskPerLine) {
  const SlurmTasks tasks =
      parse_tasks("1|RUNNING|None|node1\n2|PENDING|Resources|\n30|NODE_FAIL|None|node2\n");
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks.at(1).state, "RUNNING");
  EXPECT_EQ(tasks.at(1).nodes, "node1");
  EXPECT_EQ(tasks.at(2).reason, "Resources");
  EXPECT_EQ(tasks.at(30).state, "NODE_FAIL");
}

TEST(SlurmTasks, IgnoresOtherLines) {
  EXPECT_TRUE(parse_tasks("").empty());
  EXPECT_TRUE(parse_tasks("\nN/A|RUNNING|None|node1\nCLUSTER: east\n").empty());
  EXPECT_EQ(parse_tasks("7").at(7).state, "");
}

TEST(SlurmTasks, AreOverOnlyInFinalStates) {
  for (const char* state : {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"})
    EXPECT_TRUE(is_over(state)) << state;
  for (const char* state : {"RUNNING", "PENDING", "COMPLETING", "REQUEUED", "REQUEUE_HOLD", "SUSPENDED",
                            "CONFIGURING", "SIGNALING", ""})
    EXPECT_FALSE(is_over(state)) << state;
}

}  // namespace
}  // namespace proctor::cli
