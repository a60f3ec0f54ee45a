#include "harness/cli/slurm_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/base/outside_program.h"
#include "harness/base/temp_dir.h"
#include "harness/base/text.h"

namespace proctor::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// Runs the script with the shell. Proctor is replaced by a program that prints its arguments, one per line.
class SlurmScript : public ::testing::Test {
 protected:
  SlurmScript() {
    std::filesystem::create_directories(array_.directory);
    std::ofstream(array_.proctor) << "#!/bin/sh\nprintf '%s\\n' \"$@\"\n";
    std::filesystem::permissions(array_.proctor, std::filesystem::perms::owner_all);
    std::ofstream(script_of(array_)) << script_text(array_);
  }

  void write_journal(const std::string& run, const std::string& text) {
    std::filesystem::create_directories(array_.directory + "/" + run);
    std::ofstream(array_.directory + "/" + run + "/journal.jsonl") << text;
  }

  std::string run_task(int task) {
    const auto done =
        run_outside_program({.argv = {"sh", script_of(array_)},
                             .env = environment_with({"SLURM_ARRAY_TASK_ID=" + std::to_string(task)})});
    EXPECT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->errors, "");
    return done->output;
  }

  // The path has a blank and a quote, which users' paths may contain.
  std::string out(const std::string& run) const { return array_.directory + "/" + run; }

  TempDir dir_;
  SlurmArray array_{.directory = (dir_ / "it's out").string(),
                    .start = dir_.string(),
                    .proctor = (dir_ / "a proctor").string(),
                    .shards = 8,
                    .task_arguments = {"--sim=xpu:2x2", "--known-failures=a b"},
                    .sbatch_options = {"-p", "gpu", "--gres=gpu:1"}};
};

TEST_F(SlurmScript, RunsShardOfArrayTask) {
  EXPECT_EQ(run_task(3), "run\n--plan\n" + out("plan.json") + "\n--shard\n3/8\n--out\n" + out("shard-3") +
                             "\n--sim=xpu:2x2\n--known-failures=a b\n");
}

TEST_F(SlurmScript, ResumesLastRunInNextDirectory) {
  write_journal("shard-3", "a plan\n");
  EXPECT_EQ(run_task(3), "run\n--resume\n" + out("shard-3") + "\n--out\n" + out("shard-3.2") + "\n");
  write_journal("shard-3.2", "a plan\nand more");
  EXPECT_EQ(run_task(3), "run\n--resume\n" + out("shard-3.2") + "\n--out\n" + out("shard-3.3") + "\n");
}

TEST_F(SlurmScript, SkipsRunWithoutPlan) {
  std::filesystem::create_directories(out("shard-3"));
  write_journal("shard-3.2", "half a pla");
  EXPECT_THAT(run_task(3), HasSubstr("--plan\n" + out("plan.json")));
  EXPECT_THAT(run_task(3), HasSubstr("--out\n" + out("shard-3.3") + "\n"));
}

TEST_F(SlurmScript, SubmitsSignalBeforeTimeLimit) {
  EXPECT_THAT(sbatch_line(array_, "1-8"),
              ElementsAre("sbatch", "--parsable", "--job-name=proctor", "--array=1-8", "--open-mode=append",
                          "--output=" + out("slurm-%a.out"), "--signal=B:TERM@30", "-p", "gpu",
                          "--gres=gpu:1", script_of(array_)));
  array_.sbatch_options = {"--signal=TERM@60"};
  EXPECT_THAT(sbatch_line(array_, "2,5"), ::testing::Not(::testing::Contains("--signal=B:TERM@30")));
}

TEST_F(SlurmScript, ContinueAndMergeLinesAreShellQuoted) {
  const auto words = shell_words(continue_line(array_, {2, 5}));
  ASSERT_TRUE(words);
  EXPECT_EQ((*words)[1], "--wait");
  EXPECT_EQ((*words)[3], "--array=2,5");
  EXPECT_EQ(words->back(), script_of(array_));
  EXPECT_THAT(merge_line(array_, out("merged")), EndsWith("--out " + shell_quote(out("merged"))));
}

TEST(TaskArguments, AcceptOptionsOfRun) {
  EXPECT_TRUE(check_task_arguments({}));
  EXPECT_TRUE(check_task_arguments({"--sim", "xpu:2x2", "--strict", "--jobs=2"}));
  for (const Words& words : std::vector<Words>{{"--jbos", "2"}, {"--jobs", "x"}, {"--help"}})
    EXPECT_FALSE(check_task_arguments(words)) << words.front();
}

TEST(TaskArguments, RejectSuiteNamesAndCommands) {
  for (const Words& words : std::vector<Words>{{"memory"}, {"--jobs", "2", "--", "true"}}) {
    const auto checked = check_task_arguments(words);
    ASSERT_FALSE(checked) << words.back();
    EXPECT_THAT(checked.error().hint, HasSubstr("proctor plan -o FILE"));
  }
}

TEST(TaskArguments, RejectOptionsSetPerTask) {
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

TEST(SbatchOptions, RejectOptionsReservedForProctor) {
  for (const char* word : {"--array=1-3", "--parsable", "--wait", "--wrap=x", "--test-only"}) {
    const auto checked = check_sbatch_options({"-p", "gpu", word});
    ASSERT_FALSE(checked) << word;
    const std::string text = word;
    EXPECT_THAT(checked.error().message(), HasSubstr(text.substr(0, text.find('='))));
  }
  EXPECT_FALSE(check_sbatch_options({"-a1-3"}));
  EXPECT_FALSE(check_sbatch_options({"-W"}));
}

TEST(SbatchOptions, RejectValueWithoutOption) {
  EXPECT_TRUE(check_sbatch_options({"-p", "gpu", "--time", "10", "--gres=gpu:1", "--wait-all-nodes=1"}));
  for (const Words& words : std::vector<Words>{{"memory"}, {"--gres=gpu:1", "memory"}, {"-p", "a", "b"}}) {
    const auto checked = check_sbatch_options(words);
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message(), HasSubstr(words.back()));
  }
}

}  // namespace

}  // namespace proctor::cli
