#include "harness/runner/schedule/run_stage.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace proctor {
namespace {

CaseGroup::NoMore breaker() { return {.verdict = {Outcome::kNotrun, Reason::kBreaker}, .note = {}}; }

TEST(RunStage, TheFirstFinishCounts) {
  RunStage stage;
  EXPECT_TRUE(stage.is_running());
  EXPECT_FALSE(stage.finishing());
  EXPECT_TRUE(stage.finish(breaker(), true));
  EXPECT_EQ(stage.state(), RunStage::State::kFinishing);
  EXPECT_FALSE(stage.finish({.verdict = {Outcome::kNotrun, Reason::kBudget}, .note = {}}));
  EXPECT_EQ(stage.finishing()->verdict, breaker().verdict);
  EXPECT_TRUE(stage.finishes_at_once());
  EXPECT_FALSE(stage.is_stopping());
}

TEST(RunStage, ADeadlineStopsARunThatFinishes) {
  RunStage stage;
  stage.finish(breaker());
  EXPECT_TRUE(stage.reach_deadline());
  EXPECT_EQ(stage.state(), RunStage::State::kStopping);
  EXPECT_EQ(stage.why_stopped(), Reason::kBudget);
  EXPECT_TRUE(stage.finishing());
  EXPECT_FALSE(stage.reach_deadline());
}

TEST(RunStage, TheSecondSignalKills) {
  RunStage stage;
  stage.take_signal(SIGINT);
  EXPECT_EQ(stage.state(), RunStage::State::kStopping);
  EXPECT_EQ(stage.why_stopped(), Reason::kInterrupted);
  EXPECT_FALSE(stage.finish(breaker()));
  EXPECT_FALSE(stage.reach_deadline());
  EXPECT_FALSE(stage.finishing());
  stage.take_signal(SIGTERM);
  EXPECT_EQ(stage.state(), RunStage::State::kKilling);
  EXPECT_EQ(stage.signal(), SIGINT);
  EXPECT_TRUE(stage.is_stopping());
  stage.take_signal(SIGTERM);
  EXPECT_EQ(stage.state(), RunStage::State::kKilling);
}

TEST(RunStage, TheFirstSignalAfterTheDeadlineDoesNotKill) {
  RunStage stage;
  stage.reach_deadline();
  stage.take_signal(SIGTERM);
  EXPECT_EQ(stage.state(), RunStage::State::kStopping);
  EXPECT_EQ(stage.why_stopped(), Reason::kInterrupted);
}

}  // namespace
}  // namespace proctor
