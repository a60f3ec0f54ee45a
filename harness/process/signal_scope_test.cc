// Tests which processes a case can signal and trace, in every layer. No test sends a harmful signal: signal 0
// only checks the permission.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/process/guard/tree.h"
#include "harness/process/process_fixture.h"

namespace proctor {
namespace {

using testing::Optional;

class SignalScopeTest : public ContainedProcessTest {
 protected:
  bool held() const { return !containment_->probe().signals.empty(); }
  static std::string runner() { return std::to_string(getpid()); }
};

TEST_P(SignalScopeTest, CaseCannotSignalRunner) {
  if (!held() && !has_pid_namespace(GetParam())) GTEST_SKIP() << "neither Landlock nor seccomp works here";
  EXPECT_THAT(run(shell("kill -0 " + runner())).exit_code, Optional(1));
}

TEST_P(SignalScopeTest, CaseCannotSignalGuard) {
  if (containment_->probe().signals != "landlock") GTEST_SKIP() << "needs Linux 6.12 with Landlock";
  EXPECT_THAT(run(shell("kill -0 $PPID")).exit_code, Optional(1));
}

TEST_P(SignalScopeTest, CaseSignalsOwnProcesses) {
  EXPECT_THAT(run(shell("sleep 100 & kill -0 $! && kill -TERM $!; wait $!; test $? = 143")).exit_code,
              Optional(0));
  EXPECT_THAT(run(shell("trap 'exit 7' USR1; kill -USR1 0; exit 1")).exit_code, Optional(7));
}

// The same with set-uid programs: for root, a signal scope needs no `no_new_privs`.
TEST_P(SignalScopeTest, RootKeepsSignalScopeWithHostPids) {
  if (geteuid() != 0 || !held()) GTEST_SKIP() << "needs root and a signal scope";
  ProcessSpec spec = shell("kill -0 " + runner());
  spec.reach = Reach::kHostPids;
  EXPECT_THAT(run(spec).exit_code, Optional(1));
  ProcessSpec privileges = shell("grep -q '^NoNewPrivs:.*0$' /proc/self/status");
  privileges.reach = Reach::kHostPids;
  EXPECT_THAT(run(privileges).exit_code, Optional(0));
}

TEST_P(SignalScopeTest, RunnerToolsAreNotConfined) {
  ProcessSpec spec = shell("kill -0 " + runner());
  spec.reach = Reach::kMachine;
  EXPECT_THAT(run(spec).exit_code, Optional(0));
}

TEST_P(SignalScopeTest, TheRunnerIsNotDumpable) { EXPECT_EQ(prctl(PR_GET_DUMPABLE), 0); }

INSTANTIATE_TEST_SUITE_P(Layers, SignalScopeTest, testing::ValuesIn(kAllLayers), layer_name);

}  // namespace
}  // namespace proctor
