#include "harness/cli/caller_signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace proctor::cli {
namespace {

using Request = RunControl::Request;

class CallerSignalsTest : public testing::Test {
 protected:
  std::unique_ptr<RunControl> control_ = *RunControl::open(stop_here);
};

TEST_F(CallerSignalsTest, SignalsBecomeRunRequests) {
  const CallerSignals signals(*control_);
  control_->begin();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    ::raise(signal);
    const auto stop = control_->take();
    ASSERT_TRUE(stop) << signal;
    EXPECT_EQ(stop->request, Request::kStop);
    EXPECT_EQ(stop->signal, signal);
    EXPECT_EQ(stop->cause, StopCause::kSignal);
  }
  ::raise(SIGTSTP);
  EXPECT_EQ(control_->take()->request, Request::kSuspend);
  ::raise(SIGUSR1);
  EXPECT_EQ(control_->take()->request, Request::kDump);
}

TEST_F(CallerSignalsTest, StopAfterRunEndStaysPending) {
  const CallerSignals signals(*control_);
  control_->begin();
  control_->end();
  ::raise(SIGUSR1);
  ::raise(SIGTERM);
  EXPECT_EQ(control_->late_stop(), SIGTERM);
}

TEST_F(CallerSignalsTest, RestoresPreviousHandlersOnDestruction) {
  ::signal(SIGUSR1, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  {
    const CallerSignals signals(*control_);
    control_->begin();
    ::raise(SIGHUP);
    EXPECT_FALSE(control_->take()) << "nohup";
  }
  ::raise(SIGUSR1);
  struct sigaction now {};
  ::sigaction(SIGTERM, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
  ::signal(SIGHUP, SIG_DFL);
}

TEST_F(CallerSignalsTest, IgnoresDeathSignalOfLivingParent) {
  CallerSignals signals(*control_);
  ASSERT_TRUE(signals.watch_parent());
  ::raise(SIGRTMIN + 7);
  EXPECT_FALSE(control_->take());
}

TEST(StopSignals, DetectsPendingBlockedSignal) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    hold_stop_signals();
    EXPECT_FALSE(stop_signal_waits());
    ::raise(signal);
    EXPECT_TRUE(stop_signal_waits()) << signal;
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    int taken = 0;
    ::sigwait(&only, &taken);
    EXPECT_EQ(taken, signal);
    release_stop_signals();
  }
}

// Death tests fork, so this tests the effect of a signal before the run begins.
TEST(CallerSignalsDeathTest, SignalBeforeRunKillsProcess) {
  const auto raise_early = [] {
    const auto control = *RunControl::open(stop_here);
    const CallerSignals signals(*control);
    ::raise(SIGTERM);
  };
  EXPECT_EXIT(raise_early(), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace proctor::cli
