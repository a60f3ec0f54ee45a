// Tests `proctor stack` as a process: exit codes, and messages for wrong arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "harness/testing/child.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kDocker = std::string(PROCTOR_SOURCE_DIR) + "/docker";

struct Answer {
  int code = -1;
  std::string text;
};

Answer answer_of(const std::vector<std::string>& argv, const testing_support::ChildOptions& options = {}) {
  const auto done = testing_support::run_child(argv, options);
  return {done.exit_code, done.out + done.err};
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream text(line);
  return {std::istream_iterator<std::string>(text), {}};
}

class StackCommand : public testing::Test {
 protected:
  // Runs the command. hadolint is found only in the test's directory.
  Answer run(const std::string& arguments) const {
    std::vector<std::string> argv = {PROCTOR_BIN_DIR "/proctor", "stack"};
    for (const auto& word : words(arguments)) argv.push_back(word);
    return answer_of(argv, {.env = {"PATH=" + directory_.string()}});
  }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    return (directory_ / name).string();
  }

  TempDir directory_;
};

TEST_F(StackCommand, CommittedFilesMatchTheLocks) {
  const Answer answer = run("render --check --dir " + kDocker);
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("20 files match their locks"));
}

TEST_F(StackCommand, CheckNamesDifferingAndMissingFiles) {
  fs::create_directory(directory_ / "stacks");
  fs::copy_file(kDocker + "/stacks/cuda-13.toml", directory_ / "stacks/cuda-13.toml");
  ASSERT_EQ(run("render --dir " + directory_.string()).code, 0);
  EXPECT_EQ(run("render --check --dir " + directory_.string()).code, 0);
  std::ofstream(directory_ / "cuda-13/Dockerfile", std::ios::app) << "USER root\n";
  fs::remove(directory_ / "seccomp.json");
  const Answer answer = run("render --check --dir " + directory_.string());
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("cuda-13/Dockerfile: differs from what its lock renders to"),
                                 HasSubstr("/seccomp.json: cannot"), Not(HasSubstr("compose.yaml"))));
}

TEST_F(StackCommand, SuggestsNearestNameOfUnknownStack) {
  const Answer answer = run("render --check --dir " + kDocker + " xpu-roling");
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.text,
              AllOf(HasSubstr("There is no stack `xpu-roling`"), HasSubstr("Did you mean `xpu-rolling`?")));
}

TEST_F(StackCommand, RejectsDirectoryWithoutLocks) {
  const Answer answer = run("render --dir " + directory_.string());
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.text, HasSubstr("--dir"));
}

TEST_F(StackCommand, LintReportsLineAndFix) {
  const Answer answer = run("lint " + file("a", "FROM debian:bookworm\nUSER 7\n"));
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text,
              AllOf(HasSubstr("/a:1: image-without-digest: "), HasSubstr("\n  Write debian:bookworm@"),
                    HasSubstr("hadolint is not installed")));
}

TEST_F(StackCommand, LintPassesRenderedFile) {
  EXPECT_EQ(run("lint " + kDocker + "/xpu-rolling/Dockerfile").code, 0);
}

TEST_F(StackCommand, HadolintFindsNothingInTheCommittedFiles) {
  const std::string tools = std::string(PROCTOR_SOURCE_DIR) + "/build/lint/bin";
  if (!fs::exists(tools + "/hadolint"))
    GTEST_SKIP() << "needs build/lint/bin/hadolint, which ./dev test installs";
  std::vector<std::string> argv = {PROCTOR_BIN_DIR "/proctor", "stack", "lint"};
  for (const auto& entry : fs::recursive_directory_iterator(kDocker)) {
    if (entry.path().filename().string().starts_with("Dockerfile")) argv.push_back(entry.path().string());
  }
  ASSERT_GE(argv.size(), 3 + 9U);
  const Answer answer = answer_of(argv, {.env = {"PATH=" + tools}});
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_EQ(answer.text, "");
}

TEST_F(StackCommand, FailsOnHadolintFindings) {
  fs::permissions(file("hadolint", "#!/bin/sh\necho \"$3:7 DL3000 found\"\nexit 1\n"), fs::perms::owner_all);
  const Answer answer = run("lint " + kDocker + "/cuda-13/Dockerfile");
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text, HasSubstr("cuda-13/Dockerfile:7 DL3000 found"));
}

TEST_F(StackCommand, ReportsHadolintCrash) {
  fs::permissions(file("hadolint", "#!/bin/sh\nkill -SEGV $$\n"), fs::perms::owner_all);
  const Answer answer = run("lint " + kDocker + "/cuda-13/Dockerfile");
  EXPECT_EQ(answer.code, 75);
  EXPECT_THAT(answer.text, HasSubstr("failed to run hadolint: it was ended by SIGSEGV"));
}

TEST_F(StackCommand, RejectsLintOfMissingFile) { EXPECT_EQ(run("lint /nowhere/Dockerfile").code, 2); }

// A machine whose driver is replaced by the command that runs on it.
class RecordedStack : public StackCommand {
 protected:
  RecordedStack() {
    fs::create_directories(directory_ / "root/sys/module/nvidia");
    std::ofstream(directory_ / "root/sys/module/nvidia/version") << "580.65.06\n";
    fs::create_directories(directory_ / "config/proctor");
    std::ofstream(directory_ / "config/proctor/proctor.toml")
        << "[run]\nstack_root = \"" << (directory_ / "root").string() << "\"\n";
  }

  Answer proctor(const std::string& command, const std::string& script) const {
    return answer_of({"/usr/bin/env", "XDG_CONFIG_HOME=" + (directory_ / "config").string(),
                      PROCTOR_BIN_DIR "/proctor", command, "--out", (directory_ / "out").string(), "--", "sh",
                      "-c", script});
  }
  std::string update() const {
    return "echo 580.95.05 > " + (directory_ / "root/sys/module/nvidia/version").string();
  }
  std::string report() const { return read_file_or_empty(directory_ / "out/report.json"); }
};

TEST_F(RecordedStack, IsInTheReport) {
  const Answer answer = proctor("run", "true");
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(report(), AllOf(HasSubstr("\"kmd.nvidia\":\"580.65.06\""),
                              HasSubstr("the module xe is not loaded"), Not(HasSubstr("stack_changed"))));
}

TEST_F(RecordedStack, ChangeDuringRunFailsMachine) {
  const Answer answer = proctor("run", update());
  EXPECT_EQ(answer.code, 75) << answer.text;
  EXPECT_THAT(report(),
              AllOf(HasSubstr("stack_changed"), HasSubstr("kmd.nvidia: 580.65.06, then 580.95.05")));
}

TEST_F(RecordedStack, FailedCommandOverridesChangeUnderExec) {
  EXPECT_EQ(proctor("exec", update()).code, 75);
  fs::remove_all(directory_ / "out");
  EXPECT_EQ(
      proctor("exec", "echo 1 > " + (directory_ / "root/sys/module/nvidia/version").string() + "; exit 5")
          .code,
      5);
}

TEST_F(RecordedStack, RejectsMissingStackRoot) {
  fs::remove_all(directory_ / "root");
  EXPECT_EQ(proctor("run", "true").code, 2);
}

}  // namespace
}  // namespace proctor::cli
