#include "harness/runner/schedule/run_control.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace proctor {
namespace {

class RunControlTest : public testing::Test {
 protected:
  std::unique_ptr<RunControl> control_ = *RunControl::open();
};

TEST_F(RunControlTest, ReturnsRequestsInOrder) {
  EXPECT_FALSE(control_->take());
  control_->dump();
  control_->stop(SIGTERM, StopCause::kParentDied);
  control_->suspend();
  EXPECT_EQ(control_->take()->request, RunControl::Request::kDump);
  const auto stop = control_->take();
  EXPECT_EQ(stop->request, RunControl::Request::kStop);
  EXPECT_EQ(stop->signal, SIGTERM);
  EXPECT_EQ(stop->cause, StopCause::kParentDied);
  EXPECT_EQ(control_->take()->request, RunControl::Request::kSuspend);
  EXPECT_FALSE(control_->take());
}

TEST_F(RunControlTest, StopAfterRunIsLate) {
  control_->stop(SIGINT, StopCause::kSignal);
  EXPECT_FALSE(control_->late_stop()) << "it is for the run";
  control_->begin();
  EXPECT_EQ(control_->state(), RunControl::State::kRunning);
  EXPECT_FALSE(control_->late_stop());
  control_->end();
  control_->stop(SIGTERM, StopCause::kSignal);
  EXPECT_EQ(control_->late_stop(), SIGINT);
  EXPECT_EQ(control_->late_stop(), SIGINT) << "it stays";
}

TEST_F(RunControlTest, OnlySignalIsLateStop) {
  control_->begin();
  control_->end();
  control_->suspend();
  control_->dump();
  control_->stop(SIGTERM, StopCause::kParentDied);
  EXPECT_FALSE(control_->late_stop());
  control_->stop(SIGHUP, StopCause::kSignal);
  EXPECT_EQ(control_->late_stop(), SIGHUP);
}

TEST_F(RunControlTest, FullPipeDoesNotBlock) {
  for (int i = 0; i < 100'000; ++i) control_->dump();
  EXPECT_EQ(control_->take()->request, RunControl::Request::kDump);
}

TEST_F(RunControlTest, SuspendContinuesWithoutPauseHandler) {
  control_->pause(RunControl::Suspended::kProcess);
  static RunControl::Suspended seen;
  const auto with_pause = *RunControl::open([](RunControl::Suspended what) { seen = what; });
  with_pause->pause(RunControl::Suspended::kGroup);
  EXPECT_EQ(seen, RunControl::Suspended::kGroup);
}

}  // namespace
}  // namespace proctor
