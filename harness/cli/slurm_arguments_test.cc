#include "harness/cli/slurm_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor::cli {
namespace {

using ::testing::HasSubstr;

TEST(TaskArguments, AreThoseOfARun) {
  EXPECT_TRUE(check_task_arguments({}));
  EXPECT_TRUE(check_task_arguments({"--sim", "xpu:2x2", "--strict", "--jobs=2"}));
  for (const Words& words : std::vector<Words>{{"--jbos", "2"}, {"--jobs", "x"}, {"--help"}})
    EXPECT_FALSE(check_task_arguments(words)) << words.front();
}

TEST(TaskArguments, NameNoCaseAndNoCommand) {
  for (const Words& words : std::vector<Words>{{"memory"}, {"--jobs", "2", "--", "true"}}) {
    const auto checked = check_task_arguments(words);
    ASSERT_FALSE(checked) << words.back();
    EXPECT_THAT(checked.error().hint, HasSubstr("proctor plan -o FILE"));
  }
}

TEST(TaskArguments, OfOneTaskAloneAreRefusedByName) {
  for (const Words& words : std::vector<Words>{{"--shard", "1/2"},
                                               {"--plan", "x"},
                                               {"--case", "a/b"},
                                               {"--out", "x"},
                                               {"--join", "x"},
                                               {"--junit", "x"},
                                               {"--dry-run"},
                                               {"--no-capture"},
                                               {"--debugger", "gdb"}}) {
    const auto checked = check_task_arguments(words);
    ASSERT_FALSE(checked) << words.front();
    EXPECT_THAT(checked.error().message(), HasSubstr(words.front()));
  }
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
