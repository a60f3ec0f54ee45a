#include "harness/runner/schedule/run_stage.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace proctor {
namespace {

CaseGroup::NoMore breaker() { return {.verdict = {Outcome::kNotrun, Reason::kMachineFailures}, .note = {}}; }

TEST(RunStage, KeepsFirstFinishReason) {
  RunStage stage;
  EXPECT_TRUE(stage.is_running());
  EXPECT_FALSE(stage.finishing());
  EXPECT_TRUE(stage.finish(breaker(), true));
  EXPECT_EQ(stage.state(), RunStage::State::kFinishing);
  EXPECT_FALSE(stage.finish({.verdict = {Outcome::kNotrun, Reason::kRunLimit}, .note = {}}));
  EXPECT_EQ(stage.finishing()->verdict, breaker().verdict);
  EXPECT_TRUE(stage.finishes_at_once());
  EXPECT_FALSE(stage.is_stopping());
}

TEST(RunStage, DeadlineStopsFinishingRun) {
  RunStage stage;
  stage.finish(breaker());
  EXPECT_TRUE(stage.reach_deadline());
  EXPECT_EQ(stage.state(), RunStage::State::kStopping);
  EXPECT_EQ(stage.why_stopped(), Reason::kRunLimit);
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

TEST(RunStage, FirstSignalAfterDeadlineDoesNotKill) {
  RunStage stage;
  stage.reach_deadline();
  stage.take_signal(SIGTERM);
  EXPECT_EQ(stage.state(), RunStage::State::kStopping);
  EXPECT_EQ(stage.why_stopped(), Reason::kInterrupted);
}

const Verdict kLost{Outcome::kDeviceLost, {Reason::kDevice, "a"}};
const Verdict kLease{Outcome::kError, Reason::kGuardLost};
const Verdict kPass{Outcome::kPass, ""};

TEST(Breaker, BreaksOnceAfterConsecutiveMachineFailures) {
  Breaker breaker(3);
  EXPECT_FALSE(breaker.add(kLost));
  EXPECT_FALSE(breaker.add(kLease));
  EXPECT_TRUE(breaker.add(kLost));
  EXPECT_FALSE(breaker.add(kLost)) << "it is broken already";
}

TEST(Breaker, ExecutedCaseResetsCount) {
  for (const Verdict& other : {kPass, Verdict{Outcome::kFail, ""}, Verdict{Outcome::kTimeout, ""},
                               Verdict{Outcome::kError, Reason::kNoResult}, Verdict{Outcome::kXfail, ""}}) {
    Breaker breaker(2);
    EXPECT_FALSE(breaker.add(kLost));
    EXPECT_FALSE(breaker.add(other)) << to_string(other);
    EXPECT_FALSE(breaker.add(kLost)) << to_string(other);
    EXPECT_TRUE(breaker.add(kLost)) << to_string(other);
  }
}

TEST(Breaker, SkippedCaseKeepsCount) {
  for (const Verdict& other :
       {Verdict{Outcome::kSkip, Reason::kDisabled}, Verdict{Outcome::kNotrun, Reason::kDeviceLost}}) {
    Breaker breaker(2);
    EXPECT_FALSE(breaker.add(kLost));
    EXPECT_FALSE(breaker.add(other)) << to_string(other);
    EXPECT_TRUE(breaker.add(kLost)) << to_string(other);
  }
}

TEST(Breaker, IgnoresMissingCommand) {
  Breaker breaker(2);
  for (const char* missing : {"spawn:ENOENT", "spawn:EACCES", "spawn:ENOEXEC"}) {
    EXPECT_FALSE(breaker.add({Outcome::kError, reason_in_words(missing)})) << missing;
  }
  EXPECT_FALSE(breaker.add({Outcome::kError, {Reason::kSpawn, "EAGAIN"}}));
  EXPECT_TRUE(breaker.add({Outcome::kError, {Reason::kSpawn, "EAGAIN"}}));
}

TEST(Breaker, ZeroDisablesBreaker) {
  Breaker breaker(0);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(breaker.add(kLost));
}

}  // namespace

}  // namespace proctor
