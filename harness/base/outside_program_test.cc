// Tests with programs that misbehave. Each ends in time as an error that names the program. It leaves neither
// a process nor a descriptor.
#include "harness/base/outside_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr Milliseconds kNever{3'600'000};
constexpr Milliseconds kShort{500};             // only for programs that never end
constexpr std::size_t kManyBytes = 50'000'000;  // more than the capacity of a pipe

long open_descriptors() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

class OutsidePrograms : public testing::Test {
 protected:
  // Makes orphans children of this process, so that the test can count them.
  void SetUp() override { ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }

  void TearDown() override {
    EXPECT_EQ(open_descriptors(), descriptors_);
    siginfo_t info{};
    EXPECT_EQ(::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1) << "there is a child";
  }

  static OutsideProgram shell(const std::string& script, Milliseconds time = kNever) {
    return {.argv = {"sh", "-c", script}, .time = time, .output_limit = 100'000, .errors_limit = 1000};
  }

  static std::string problem(const OutsideProgram& program) {
    const auto done = run_outside_program(program);
    return done ? "none: it exited with " + std::to_string(done->exit_code) : done.error().what;
  }

  // Waits for an orphan and expects that it was killed.
  static void expect_a_killed_orphan() {
    int status = 0;
    ASSERT_GT(::waitpid(-1, &status, 0), 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  }

  const TempDir directory_;

 private:
  const long descriptors_ = open_descriptors();
};

TEST_F(OutsidePrograms, ReturnsOutputAndExitCode) {
  OutsideProgram program = shell("cat; echo $NAME; echo problem >&2; exit 3");
  program.input = "input\n";
  program.env = environment_with({"NAME=value"});
  const auto done = run_outside_program(program);
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->output, "input\nvalue\n");
  EXPECT_EQ(done->errors, "problem\n");
  EXPECT_EQ(done->exit_code, 3);
}

TEST_F(OutsidePrograms, ReturnsLargeOutput) {
  OutsideProgram program = shell("cat");
  program.input = std::string(kManyBytes, 'x');
  program.output_limit = program.input.size();
  const auto done = run_outside_program(program);
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->output, program.input);
}

TEST_F(OutsidePrograms, PassesArgumentsWithoutShell) {
  const auto done = run_outside_program({.argv = {"printf", "%s", "$(id) `id` ; 'x"}});
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->output, "$(id) `id` ; 'x");
}

TEST_F(OutsidePrograms, ReportsMissingProgram) {
  const auto done = run_outside_program({.argv = {"no-such-program"}, .package = "some-package"});
  ASSERT_FALSE(done);
  EXPECT_TRUE(is_missing(done.error()));
  EXPECT_THAT(done.error().what, HasSubstr("find the program no-such-program"));
  EXPECT_EQ(done.error().hint, "Install the package some-package.");
}

TEST_F(OutsidePrograms, ReportsNonExecutableProgram) {
  const std::string file = (directory_ / "tool").string();
  std::ofstream(file) << "#!/bin/sh\n";
  const auto done = run_outside_program({.argv = {file}, .package = "some-package"});
  ASSERT_FALSE(done);
  EXPECT_FALSE(is_missing(done.error()));
  EXPECT_THAT(done.error().what, HasSubstr(file + ": Permission denied"));
  EXPECT_EQ(done.error().hint, "Try: ls -l " + file);
}

TEST_F(OutsidePrograms, ReportsMissingInterpreter) {
  const std::string file = (directory_ / "tool").string();
  std::ofstream(file) << "#!/no/such/interpreter\n";
  fs::permissions(file, fs::perms::owner_all);
  const auto done = run_outside_program({.argv = {file}, .package = "some-package"});
  ASSERT_FALSE(done);
  EXPECT_FALSE(is_missing(done.error()));
  EXPECT_THAT(done.error().what, HasSubstr("start " + file));
}

TEST_F(OutsidePrograms, KillsHangingProgram) {
  EXPECT_EQ(problem({.argv = {"sleep", "1000"}, .time = kShort}),
            "run sleep: it did not end within 500 ms and was killed");
}

TEST_F(OutsidePrograms, KillsUnwantedProgram) {
  OutsideProgram program = shell("exec sleep 1000");
  int asked = 0;
  program.is_unwanted = [&] { return ++asked == 3; };
  EXPECT_EQ(problem(program), "run sh: it was not waited for and was killed");
  program = shell("exit 3");
  program.is_unwanted = [] { return false; };
  EXPECT_EQ(problem(program), "none: it exited with 3");
}

TEST_F(OutsidePrograms, KillsHangingProgramAndChildren) {
  EXPECT_THAT(problem(shell("sleep 1000 & wait", kShort)), HasSubstr("run sh: it did not end within"));
  expect_a_killed_orphan();
}

TEST_F(OutsidePrograms, KillsChildrenLeftOnPipes) {
  const auto done = run_outside_program(shell("sleep 1000 & echo left"));
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->output, "left\n");
  expect_a_killed_orphan();
}

// The daemon has left the process group. The run must not wait for it.
TEST_F(OutsidePrograms, ReturnsWhileDaemonHoldsPipes) {
  const std::string up = (directory_ / "up").string();
  const auto done = run_outside_program(
      shell("mkfifo " + up + "; setsid -f sh -c 'echo $$ > " + up + "; exec sleep 1000'; cat " + up));
  ASSERT_TRUE(done) << done.error().what;
  ASSERT_EQ(::kill(std::stoi(done->output), SIGKILL), 0);
  expect_a_killed_orphan();
}

TEST_F(OutsidePrograms, LimitsOutputSize) {
  OutsideProgram program{
      .argv = {"head", "-c", "1073741824", "/dev/zero"}, .time = kNever, .output_limit = 1 << 20};
  EXPECT_EQ(problem(program), "run head: it wrote more than 1048576 bytes to its stdout and was killed");
  EXPECT_THAT(problem(shell("exec head -c 1073741824 /dev/zero >&2")),
              HasSubstr("more than 1000 bytes to its stderr"));
}

TEST_F(OutsidePrograms, LimitsFileSize) {
  const std::string file = (directory_ / "large").string();
  const OutsideProgram program{.argv = {"dd", "if=/dev/zero", "of=" + file, "bs=1000", "count=100"},
                               .time = kNever,
                               .file_limit = 10'000};
  EXPECT_EQ(problem(program), "run dd: it wrote a file of more than 10000 bytes");
  EXPECT_EQ(fs::file_size(file), 10'000u);
}

TEST_F(OutsidePrograms, ReportsSignal) {
  EXPECT_EQ(problem(shell("kill -SEGV $$")), "run sh: it was ended by SIGSEGV");
}

TEST_F(OutsidePrograms, WaitsForExitAfterStreamsClose) {
  const auto done = run_outside_program(shell("echo early; exec >&- 2>&-; sleep 0.1; exit 7"));
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->output, "early\n");
  EXPECT_EQ(done->exit_code, 7);
  EXPECT_THAT(problem(shell("exec >&- 2>&-; exec sleep 1000", kShort)), HasSubstr("did not end within"));
}

TEST_F(OutsidePrograms, AcceptsUnreadInput) {
  OutsideProgram program = shell("exit 5");
  program.input = std::string(kManyBytes, 'x');
  const auto done = run_outside_program(program);
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->exit_code, 5);
}

TEST_F(OutsidePrograms, KillsProgramThatIgnoresSignals) {
  EXPECT_THAT(problem(shell("trap '' TERM INT HUP XFSZ; while :; do :; done", kShort)),
              HasSubstr("did not end within"));
}

}  // namespace
}  // namespace proctor
