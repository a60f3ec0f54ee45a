#include "harness/runner/attempt/case_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Next = CaseProgress::Next;

const Verdict kGood{Outcome::kPass, {}};
const Verdict kBad{Outcome::kFail, {}};

TEST(CaseProgress, OneGoodAttemptIsTheEnd) {
  CaseProgress progress({});
  EXPECT_EQ(progress.add(kGood, {}, false), Next::kDone);
  EXPECT_EQ(progress.verdict(), kGood);
  EXPECT_THAT(progress.marks(), IsEmpty());
}

TEST(CaseProgress, FailThenPassIsAFlakyPass) {
  CaseProgress progress({.retries = 2});
  EXPECT_EQ(progress.add(kBad, {Mark::kLeaky}, false), Next::kRetry);
  EXPECT_EQ(progress.attempt(), 2);
  EXPECT_EQ(progress.add(kGood, {}, false), Next::kDone);
  EXPECT_EQ(progress.verdict(), kGood);
  EXPECT_THAT(progress.marks(), ElementsAre(Mark::kLeaky, Mark::kFlaky));
}

TEST(CaseProgress, BadOnOneDeviceAndGoodOnAnotherSuspectsTheDevice) {
  CaseProgress progress({.retries = 2});
  progress.add(kBad, {}, false, {"a"});
  progress.add(kBad, {}, false, {"a"});
  EXPECT_EQ(progress.add(kGood, {}, false, {"b"}), Next::kDone);
  EXPECT_EQ(progress.verdict(), kGood);
  EXPECT_THAT(progress.marks(), ElementsAre(Mark::kDeviceSuspect));
}

TEST(CaseProgress, BadAndGoodOnOneDeviceIsFlakyWhateverOthersSay) {
  CaseProgress progress({.retries = 2});
  progress.add(kBad, {}, false, {"a"});
  progress.add(kGood, {}, false, {"a"});
  EXPECT_THAT(progress.marks(), ElementsAre(Mark::kFlaky));
  CaseProgress elsewhere({.retries = 3});
  elsewhere.add(kBad, {}, false, {"a"});
  elsewhere.add(kBad, {}, false, {"b"});
  elsewhere.add(kGood, {}, false, {"c"});
  EXPECT_THAT(elsewhere.marks(), ElementsAre(Mark::kFlaky));
}

TEST(CaseProgress, AnAttemptOnASickDeviceCountsForNothingAndIsNamed) {
  CaseProgress progress({.retries = 1});
  EXPECT_FALSE(progress.has_suspect());
  progress.discount();
  EXPECT_TRUE(progress.has_suspect());
  EXPECT_EQ(progress.attempt(), 2) << "each has a number of its own";
  EXPECT_EQ(progress.counted_attempts(), 1);
  EXPECT_EQ(progress.add(kBad, {}, false, {"b"}), Next::kRetry) << "it has cost no retry";
  EXPECT_EQ(progress.attempt(), 3);
  EXPECT_EQ(progress.add(kBad, {}, false, {"b"}), Next::kDone);
  EXPECT_EQ(progress.verdict(), kBad);
  CaseProgress good({.repeat = 2});
  good.discount();
  EXPECT_EQ(good.add(kGood, {}, false, {"b"}), Next::kRepeat);
  EXPECT_EQ(good.attempt(), 1);
  EXPECT_EQ(good.counted_attempts(), 1);
  EXPECT_EQ(good.add(kGood, {}, false, {"b"}), Next::kDone);
  EXPECT_EQ(good.verdict(), kGood);
  EXPECT_THAT(good.marks(), ElementsAre(Mark::kDeviceSuspect)) << "and not flaky";
}

TEST(CaseProgress, RepeatsAreNumberedFromWhereTheyBegin) {
  CaseProgress progress({.repeat = 2, .first_repeat = 5});
  EXPECT_EQ(progress.repeat(), 5);
  EXPECT_EQ(progress.add(kGood, {}, false), Next::kRepeat);
  EXPECT_EQ(progress.repeat(), 6);
  EXPECT_EQ(progress.add(kGood, {}, false), Next::kDone);
}

TEST(CaseProgress, RetriesAreUsedUpAndTheLastVerdictCounts) {
  CaseProgress progress({.retries = 1});
  EXPECT_EQ(progress.add(kBad, {}, false), Next::kRetry);
  EXPECT_EQ(progress.add({Outcome::kCrash, {Reason::kSignal, 11}}, {}, false), Next::kDone);
  EXPECT_EQ(to_string(progress.verdict()), "crash(signal:11)");
  EXPECT_THAT(progress.marks(), IsEmpty());
}

TEST(CaseProgress, AKnownFailureIsNotRetried) {
  CaseProgress progress({.retries = 3});
  EXPECT_EQ(progress.add(kBad, {}, true), Next::kDone);
  EXPECT_EQ(progress.verdict(), kBad);
}

TEST(CaseProgress, EachRepeatHasItsOwnRetriesAndTheFirstBadOneDecides) {
  CaseProgress progress({.retries = 1, .repeat = 3});
  EXPECT_EQ(progress.add(kGood, {}, false), Next::kRepeat);
  EXPECT_EQ(progress.repeat(), 2);
  EXPECT_EQ(progress.add(kBad, {}, false), Next::kRetry);
  EXPECT_EQ(progress.attempt(), 2);
  EXPECT_EQ(progress.repeat(), 2);
  EXPECT_EQ(progress.add({Outcome::kTimeout, {}}, {}, false), Next::kRepeat);
  EXPECT_EQ(progress.attempt(), 1);
  EXPECT_EQ(progress.add(kGood, {}, false), Next::kDone);
  EXPECT_EQ(progress.verdict().outcome, Outcome::kTimeout);
  EXPECT_THAT(progress.marks(), ElementsAre(Mark::kFlaky));
}

TEST(CaseProgress, UntilFailStopsAtTheFirstBadRepeat) {
  CaseProgress progress({.retries = 0, .repeat = 1000, .until_fail = true});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(progress.add(kGood, {}, false), Next::kRepeat);
  EXPECT_EQ(progress.repeat(), 5);
  EXPECT_EQ(progress.add(kBad, {}, false), Next::kDone);
  EXPECT_EQ(progress.verdict(), kBad);
}

TEST(CaseProgress, WhatWasCutShortIsNeitherRetriedNorRepeated) {
  CaseProgress progress({.retries = 5, .repeat = 5});
  EXPECT_EQ(progress.add({Outcome::kNotrun, Reason::kInterrupted}, {}, false), Next::kDone);
  EXPECT_EQ(to_string(progress.verdict()), "notrun(interrupted)");
}

TEST(CaseProgress, AFailureIsNotHiddenByALaterStop) {
  CaseProgress progress({.retries = 0, .repeat = 5});
  EXPECT_EQ(progress.add(kBad, {}, false), Next::kRepeat);
  EXPECT_EQ(progress.add({Outcome::kNotrun, Reason::kInterrupted}, {}, false), Next::kDone);
  EXPECT_EQ(progress.verdict(), kBad);
}

TEST(CaseProgress, UntilFailAlsoStopsAtAFailureBesideOthers) {
  CaseProgress progress({.repeat = 1000, .until_fail = true});
  EXPECT_EQ(progress.add(kGood, {}, false), Next::kRepeat);
  progress.doubt(kBad);
  EXPECT_EQ(progress.add(kGood, {}, false), Next::kDone) << "it is good alone";
  EXPECT_EQ(progress.verdict(), kGood);
  EXPECT_THAT(progress.marks(), ElementsAre(Mark::kFlaky));
}

TEST(CaseProgress, OnlyTheRepeatThatWasBadBesideOthersIsTheLast) {
  CaseProgress progress({.repeat = 3});
  progress.doubt(kBad);
  EXPECT_EQ(progress.add(kBad, {}, false), Next::kRepeat) << "nobody asked to stop";
  CaseProgress verified({.repeat = 3, .until_fail = true});
  verified.doubt(kGood);
  EXPECT_EQ(verified.add(kGood, {}, false), Next::kRepeat);
}

TEST(CaseProgress, BetweenRepeatsNothingHasBegun) {
  CaseProgress progress({.retries = 1, .repeat = 3, .first_repeat = 7});
  EXPECT_FALSE(progress.has_whole_repeat());
  EXPECT_FALSE(progress.is_between_repeats());
  progress.add(kGood, {}, false);
  EXPECT_TRUE(progress.is_between_repeats());
  progress.add(kBad, {}, false);
  EXPECT_FALSE(progress.is_between_repeats()) << "a retry is next";
  EXPECT_TRUE(progress.has_whole_repeat());
}

using Stage = CaseProgress::Stage;
using Ending = CaseProgress::Ending;
using Action = CaseProgress::Action;

const Verdict kSkip{Outcome::kSkip, {}};

// A case whose next attempt is its second one, and the last of its only repeat.
CaseProgress at(Stage stage) {
  CaseProgress progress({});
  switch (stage) {
    case Stage::kCounting:
      progress.disbelieve();
      break;
    case Stage::kVerifying:
      progress.doubt(kGood);
      break;
    case Stage::kConfirming:
      progress.doubt(kBad, {}, /*behind_others=*/true);
      break;
    case Stage::kProving:
    case Stage::kOrdering:
      progress.doubt(kBad, {}, /*behind_others=*/true);
      progress.add(kGood, {}, false);
      if (stage == Stage::kOrdering) progress.add(kGood, {}, false);
      break;
  }
  EXPECT_EQ(progress.stage(), stage);
  return progress;
}

Verdict verdict_of(Ending ending) {
  switch (ending) {
    case Ending::kGood:
      return kGood;
    case Ending::kSkip:
      return kSkip;
    case Ending::kBad:
    case Ending::kExpected:
      return kBad;
    case Ending::kCutShort:
      return {Outcome::kNotrun, Reason::kInterrupted};
  }
  return {};
}

// What the action makes of it.
void check(Stage before, Ending ending) {
  CaseProgress progress = at(before);
  const Verdict earlier = progress.verdict();
  const Verdict verdict = verdict_of(ending);
  const bool expected = ending == Ending::kExpected;
  EXPECT_EQ(CaseProgress::ending_of(verdict, expected), ending);
  const Next next = progress.add(verdict, {Mark::kLeaky}, expected);
  EXPECT_TRUE(has_mark(progress.marks(), Mark::kLeaky));
  const Action action = CaseProgress::action_of(before, ending);
  const bool proves = action == Action::kFlaky || action == Action::kGoOn;
  EXPECT_EQ(next, proves ? Next::kRetry : Next::kDone);
  EXPECT_EQ(progress.stage(), action == Action::kFlaky  ? Stage::kProving
                              : action == Action::kGoOn ? Stage::kOrdering
                                                        : Stage::kCounting);
  EXPECT_EQ(has_mark(progress.marks(), Mark::kOrderDependent), action == Action::kDependent);
  const bool counts = action == Action::kCount || action == Action::kFlaky || action == Action::kAgain;
  const Verdict order{Outcome::kFail, Reason::kOrder};
  EXPECT_EQ(progress.verdict(), counts ? verdict : action == Action::kOrder ? order : earlier);
}

TEST(CaseProgress, EachStageTakesEachEnding) {
  for (const Stage stage :
       {Stage::kCounting, Stage::kVerifying, Stage::kConfirming, Stage::kProving, Stage::kOrdering}) {
    for (const Ending ending :
         {Ending::kGood, Ending::kSkip, Ending::kBad, Ending::kExpected, Ending::kCutShort}) {
      SCOPED_TRACE(testing::Message()
                   << "stage " << static_cast<int>(stage) << ", ending " << static_cast<int>(ending));
      check(stage, ending);
    }
  }
}

}  // namespace
}  // namespace proctor
