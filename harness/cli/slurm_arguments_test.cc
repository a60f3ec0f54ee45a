#include "harness/cli/slurm_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SlurmArguments, OfThePlanAreNotSaidToTheTasksAgain) {
  const auto split = split_run_arguments({"memory", "--size", "full", "--timeout=5s", "--case", "a/b",
                                          "--case", "c/d", "--strict", "--jobs", "2"});
  ASSERT_TRUE(split) << split.error().message();
  EXPECT_THAT(split->of_plan, ::testing::UnorderedElementsAre("memory", "--size=full", "--timeout=5s",
                                                              "--case=a/b", "--case=c/d"));
  EXPECT_THAT(split->of_task, ::testing::UnorderedElementsAre("--strict", "--jobs=2"));
  EXPECT_FALSE(split->command);
}

TEST(SlurmArguments, AboutTheMachineAreSaidToBoth) {
  const auto split = split_run_arguments({"--sim", "xpu:2x2", "--lease-wait", "5s"});
  ASSERT_TRUE(split) << split.error().message();
  EXPECT_THAT(split->of_plan, ::testing::UnorderedElementsAre("--sim=xpu:2x2", "--lease-wait=5s"));
  EXPECT_THAT(split->of_task, ::testing::UnorderedElementsAre("--sim=xpu:2x2", "--lease-wait=5s"));
}

TEST(SlurmArguments, TheCommandIsOfThePlan) {
  const auto split = split_run_arguments({"--gpus", "1", "--", "./gpu_tests", "--", "--out"});
  ASSERT_TRUE(split) << split.error().message();
  ASSERT_TRUE(split->command);
  EXPECT_THAT(*split->command, ElementsAre("./gpu_tests", "--", "--out"));
  EXPECT_THAT(split->of_plan, ElementsAre("--gpus=1"));
  EXPECT_THAT(split->of_task, IsEmpty());
}

TEST(SlurmArguments, OfARunThatIsRefusedAreRefusedHere) {
  for (const Words& words : std::vector<Words>{{"--jbos", "2"},
                                               {"--jobs", "x"},
                                               {"--deadline", "x"},
                                               {"--plan", "p.json", "--size", "full"},
                                               {"--plan", "p.json", "--", "true"},
                                               {"--help"}}) {
    EXPECT_FALSE(split_run_arguments(words)) << words.front();
  }
}

TEST(SlurmArguments, WhatOneTaskOfManyCannotDoIsRefusedByName) {
  for (const Words& words : std::vector<Words>{{"--shard", "1/2"},
                                               {"--out", "x"},
                                               {"--join", "x"},
                                               {"--junit", "x"},
                                               {"--dry-run"},
                                               {"--no-capture"},
                                               {"--debugger", "gdb"}}) {
    const auto split = split_run_arguments(words);
    ASSERT_FALSE(split) << words.front();
    EXPECT_THAT(split.error().message(), HasSubstr(words.front()));
    EXPECT_NE(split.error().hint, "");
  }
}

TEST(SlurmArguments, ASelectionMakesAnotherPlanOfAFile) {
  const auto split = split_run_arguments({"--plan", "p.json", "--case", "a/b"});
  ASSERT_FALSE(split);
  EXPECT_THAT(split.error().message(), HasSubstr("--case"));
}

TEST(SbatchOptions, SayHowManyDevicesANodeGives) {
  const auto devices = [](const Words& words) { return shape_of(words).devices; };
  EXPECT_EQ(devices({}), 0);
  EXPECT_EQ(devices({"--gres=gpu:4"}), 4);
  EXPECT_EQ(devices({"--gres", "gpu:a100:2"}), 2);
  EXPECT_EQ(devices({"--gres=license:3,gpu:2(S:0-1)"}), 2);
  EXPECT_EQ(devices({"--gres=gpu"}), 1);
  EXPECT_EQ(devices({"--gres=gpu:fake"}), 1);
  EXPECT_EQ(devices({"--gres=tmpdisk:7"}), 0);
  EXPECT_EQ(devices({"--gpus-per-node=a100:3"}), 3);
  EXPECT_EQ(devices({"--time", "10"}), 0);
}

TEST(SbatchOptions, SayHowManyNodes) {
  const auto nodes = [](const Words& words) { return shape_of(words).nodes; };
  EXPECT_EQ(nodes({}), 1);
  EXPECT_EQ(nodes({"--nodes=2"}), 2);
  EXPECT_EQ(nodes({"--nodes", "3"}), 3);
  EXPECT_EQ(nodes({"-N2"}), 2);
  EXPECT_EQ(nodes({"-N", "1-4"}), 4);
  EXPECT_THAT(without_nodes({"-p", "a", "-N", "2", "--gres=gpu:1", "--nodes=3", "-N4", "-t", "9"}),
              ElementsAre("-p", "a", "--gres=gpu:1", "-t", "9"));
}

TEST(SbatchOptions, OfProctorAreRefusedByName) {
  for (const char* word : {"--array=1-3", "--parsable", "--wait", "--wrap=x", "--test-only"}) {
    const auto checked = check_sbatch_options({"-p", "gpu", word});
    ASSERT_FALSE(checked) << word;
    const std::string text = word;
    EXPECT_THAT(checked.error().message(), HasSubstr(text.substr(0, text.find('='))));
  }
  EXPECT_FALSE(check_sbatch_options({"-a1-3"}));
  EXPECT_FALSE(check_sbatch_options({"-W"}));
}

TEST(SbatchOptions, AWordIsTheValueOfAnOptionOrRefused) {
  EXPECT_TRUE(check_sbatch_options({"-p", "gpu", "--time", "10", "--gres=gpu:1", "--wait-all-nodes=1"}));
  for (const Words& words : std::vector<Words>{{"memory"}, {"--gres=gpu:1", "memory"}, {"-p", "a", "b"}}) {
    const auto checked = check_sbatch_options(words);
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message(), HasSubstr(words.back()));
  }
}

}  // namespace
}  // namespace proctor::cli
