// proctor stack as a shell starts it: exit codes, and what a wrong word is answered with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>

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

class StackCommand : public testing::Test {
 protected:
  StackCommand() {
    char name[] = "/tmp/proctor-stack-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~StackCommand() override { fs::remove_all(directory_); }

  // hadolint is what lies in the directory, or nothing.
  Answer run(const std::string& arguments) const {
    const std::string line =
        "PATH=" + directory_.string() + " " PROCTOR_BIN_DIR "/proctor stack " + arguments + " 2>&1";
    FILE* pipe = ::popen(line.c_str(), "r");
    Answer answer;
    std::array<char, 4096> buffer{};
    while (const auto n = std::fread(buffer.data(), 1, buffer.size(), pipe))
      answer.text.append(buffer.data(), n);
    const int status = ::pclose(pipe);
    answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return answer;
  }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    return (directory_ / name).string();
  }

  fs::path directory_;
};

TEST_F(StackCommand, TheCommittedFilesAreThoseOfTheLocks) {
  const Answer answer = run("render --check --dir " + kDocker);
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("20 files are what their locks render to"));
}

TEST_F(StackCommand, AFileThatDiffersOrIsMissingIsNamed) {
  fs::create_directory(directory_ / "stacks");
  fs::copy_file(kDocker + "/stacks/cuda-13.toml", directory_ / "stacks/cuda-13.toml");
  ASSERT_EQ(run("render --dir " + directory_.string()).code, 0);
  EXPECT_EQ(run("render --check --dir " + directory_.string()).code, 0);
  std::ofstream(directory_ / "cuda-13/Dockerfile", std::ios::app) << "USER root\n";
  fs::remove(directory_ / "cuda-13/run.sh");
  const Answer answer = run("render --check --dir " + directory_.string());
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("cuda-13/Dockerfile: not what its lock renders to"),
                                 HasSubstr("cuda-13/run.sh: cannot"), Not(HasSubstr("compose.yaml"))));
}

TEST_F(StackCommand, AnUnknownStackIsAnsweredWithTheNearest) {
  const Answer answer = run("render --check --dir " + kDocker + " xpu-roling");
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("failed to find the stack `xpu-roling`"),
                                 HasSubstr("Did you mean `xpu-rolling`?")));
}

TEST_F(StackCommand, NoLocksAtAll) {
  const Answer answer = run("render --dir " + directory_.string());
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.text, HasSubstr("--dir"));
}

TEST_F(StackCommand, LintIsRedWithLineAndFix) {
  const Answer answer = run("lint " + file("a", "FROM debian:bookworm\nUSER 7\n"));
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text,
              AllOf(HasSubstr("/a:1: image-without-digest: "), HasSubstr("\n  Write debian:bookworm@"),
                    HasSubstr("hadolint is not installed")));
}

TEST_F(StackCommand, LintIsGreenOnARenderedFile) {
  EXPECT_EQ(run("lint " + kDocker + "/xpu-rolling/Dockerfile").code, 0);
}

TEST_F(StackCommand, WhatHadolintFindsCountsToo) {
  fs::permissions(file("hadolint", "#!/bin/sh\necho \"$3:7 DL3000 found\"\nexit 1\n"), fs::perms::owner_all);
  const Answer answer = run("lint " + kDocker + "/cuda-13/Dockerfile");
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text, HasSubstr("cuda-13/Dockerfile:7 DL3000 found"));
}

TEST_F(StackCommand, LintOfAMissingFileIsAMistake) { EXPECT_EQ(run("lint /nowhere/Dockerfile").code, 2); }

}  // namespace
}  // namespace proctor::cli
