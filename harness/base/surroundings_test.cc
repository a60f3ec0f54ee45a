#include "harness/base/surroundings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;

// Slurm 22.05.8 sets these variables for a task of an array and in a step of the task.
const std::map<std::string, std::string> kTask = {{"SLURM_JOB_ID", "5"},        {"SLURM_ARRAY_JOB_ID", "4"},
                                                  {"SLURM_ARRAY_TASK_ID", "1"}, {"SLURM_CLUSTER_NAME", "c1"},
                                                  {"SLURMD_NODENAME", "node7"}, {"SLURM_JOB_NUM_NODES", "2"},
                                                  {"SLURM_NNODES", "2"}};

TEST(SlurmJob, UsesJobIdOfArrayTask) {
  EXPECT_EQ(slurm_job_of(kTask), (SlurmJob{.id = "5", .cluster = "c1", .node = "node7"}));
}

TEST(SlurmJob, RequiresNumericJobId) {
  EXPECT_EQ(slurm_job_of({}), std::nullopt);
  for (const char* text : {"", "x", "4_1", "-1", "12345678901", "4 "}) {
    EXPECT_EQ(slurm_job_of({{"SLURM_JOB_ID", text}}), std::nullopt) << text;
  }
  EXPECT_EQ(slurm_job_of({{"SLURM_JOB_ID", "4"}}), (SlurmJob{.id = "4"}));
}

TEST(SlurmJob, StepNodeCountPrecedesJobNodeCount) {
  EXPECT_EQ(slurm_nodes(kTask), 2);
  auto step = kTask;
  step["SLURM_STEP_NUM_NODES"] = "1";
  EXPECT_EQ(slurm_nodes(step), 1);
  EXPECT_EQ(slurm_nodes({{"SLURM_NNODES", "many"}}), 1);
}

TEST(SlurmJob, DrainReasonIsOneLine) {
  EXPECT_THAT(slurm_drain_command("node7", "lost:\n\"it's\" gone"),
              ElementsAre("scontrol", "update", "NodeName=node7", "State=DRAIN", "Reason=lost:  it s  gone"));
}

}  // namespace
}  // namespace proctor
