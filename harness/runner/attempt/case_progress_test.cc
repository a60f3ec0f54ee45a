#include "harness/runner/attempt/case_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Next = CaseProgress::Next;
using Invalid = CaseProgress::Invalid;

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

TEST(CaseProgress, AnAttemptOnAnUnhealthyDeviceDoesNotCount) {
  CaseProgress progress({.retries = 1});
  EXPECT_FALSE(progress.has_suspect());
  progress.invalidate(Invalid::kDeviceUnhealthy);
  EXPECT_TRUE(progress.has_suspect());
  EXPECT_EQ(progress.attempt(), 2) << "each has a number of its own";
  EXPECT_EQ(progress.counted_attempts(), 1);
  EXPECT_EQ(progress.add(kBad, {}, false, {"b"}), Next::kRetry) << "it has cost no retry";
  EXPECT_EQ(progress.attempt(), 3);
  EXPECT_EQ(progress.add(kBad, {}, false, {"b"}), Next::kDone);
  EXPECT_EQ(progress.verdict(), kBad);
  CaseProgress good({.repeat = 2});
  good.invalidate(Invalid::kDeviceUnhealthy);
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

TEST(CaseProgress, UntilFailAlsoStopsAtAFailureInASharedProcess) {
  CaseProgress progress({.repeat = 1000, .until_fail = true});
  EXPECT_EQ(progress.add(kGood, {}, false), Next::kRepeat);
  progress.add_shared(kBad);
  EXPECT_EQ(progress.add(kGood, {}, false), Next::kDone) << "it is good alone";
  EXPECT_EQ(progress.verdict(), kGood);
  EXPECT_THAT(progress.marks(), ElementsAre(Mark::kFlaky));
}

TEST(CaseProgress, OnlyTheRepeatThatWasBadInASharedProcessIsTheLast) {
  CaseProgress progress({.repeat = 3});
  progress.add_shared(kBad);
  EXPECT_EQ(progress.add(kBad, {}, false), Next::kRepeat) << "without until_fail";
  CaseProgress verified({.repeat = 3, .until_fail = true});
  verified.add_shared(kGood);
  verified.verify();
  EXPECT_EQ(verified.add(kGood, {}, false), Next::kRepeat);
}

TEST(CaseProgress, AHeldAttemptKeepsItsDevices) {
  CaseProgress progress({.repeat = 2});
  progress.add(kGood, {}, false, {"a"});
  progress.add_shared(kBad, {}, {"a"});
  EXPECT_EQ(progress.add({Outcome::kNotrun, Reason::kInterrupted}, {}, false), Next::kDone);
  EXPECT_EQ(progress.verdict(), kBad);
  EXPECT_THAT(progress.devices(), ElementsAre("a"));
  EXPECT_THAT(progress.marks(), ElementsAre(Mark::kFlaky)) << "on one device";
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
using ProgressEvent = CaseProgress::Event;
using Action = CaseProgress::Action;

// Returns a case in this stage. It has one repeat and no retries.
CaseProgress at(Stage stage) {
  CaseProgress progress({});
  const bool was_bad = stage == Stage::kConfirming || stage == Stage::kProving || stage == Stage::kOrdering;
  if (was_bad) progress.add_shared(kBad, {}, {}, /*behind_others=*/true);
  if (stage == Stage::kHeld || stage == Stage::kVerifying) progress.add_shared(kGood);
  if (stage == Stage::kVerifying) progress.verify();
  if (stage == Stage::kProving || stage == Stage::kOrdering) progress.add(kGood, {}, false);
  if (stage == Stage::kOrdering) progress.add(kGood, {}, false);
  EXPECT_EQ(progress.stage(), stage);
  return progress;
}

Verdict verdict_of(ProgressEvent event) {
  if (event == ProgressEvent::kCutShort) return {Outcome::kNotrun, Reason::kInterrupted};
  return event == ProgressEvent::kGood || event == ProgressEvent::kGoodShared ? Verdict{Outcome::kSkip, {}}
                                                                              : kBad;
}

// Calls the function for the event. Returns its result, if it has one.
std::optional<Next> send(CaseProgress& progress, ProgressEvent event) {
  const Verdict verdict = verdict_of(event);
  switch (event) {
    case ProgressEvent::kGood:
    case ProgressEvent::kBad:
    case ProgressEvent::kExpected:
    case ProgressEvent::kCutShort:
      EXPECT_EQ(CaseProgress::event_of(verdict, event == ProgressEvent::kExpected), event);
      return progress.add(verdict, {Mark::kLeaky}, event == ProgressEvent::kExpected);
    case ProgressEvent::kGoodShared:
    case ProgressEvent::kBadShared:
      progress.add_shared(verdict);
      return std::nullopt;
    case ProgressEvent::kVerify:
      progress.verify();
      return std::nullopt;
    case ProgressEvent::kAccept:
      return progress.accept();
    case ProgressEvent::kInvalid:
      progress.invalidate(Invalid::kUnreliable);
      return std::nullopt;
  }
  return std::nullopt;
}

void check(Stage before, ProgressEvent event) {
  CaseProgress progress = at(before);
  const Verdict earlier = progress.verdict();
  const int attempt = progress.attempt();
  const auto transition = CaseProgress::transition_of(before, event);
  if (!transition) {
    EXPECT_THROW(send(progress, event), std::bad_optional_access);
    EXPECT_EQ(progress.stage(), before);
    return;
  }
  const Action action = transition->action;
  const std::optional<Next> next = send(progress, event);
  EXPECT_EQ(progress.stage(), transition->next);
  const bool again = action == Action::kRepeat || action == Action::kConfirm || action == Action::kFlaky;
  EXPECT_EQ(progress.attempt(), attempt + (again ? 1 : 0));
  EXPECT_EQ(next.value_or(again ? Next::kRetry : Next::kDone), again ? Next::kRetry : Next::kDone);
  EXPECT_EQ(has_mark(progress.marks(), Mark::kLeaky), event <= ProgressEvent::kCutShort);
  EXPECT_EQ(has_mark(progress.marks(), Mark::kOrderDependent), action == Action::kDependent);
  const bool keeps = action == Action::kAccept || action == Action::kRepeat || action == Action::kEnd ||
                     action == Action::kDependent;
  const Verdict order{Outcome::kFail, Reason::kFailsAlone};
  const bool drops_held = before == Stage::kHeld && event == ProgressEvent::kInvalid;
  EXPECT_EQ(progress.verdict(), drops_held                 ? Verdict{}
                                : keeps                    ? earlier
                                : action == Action::kOrder ? order
                                                           : verdict_of(event));
}

constexpr Stage kStages[] = {Stage::kCounting,   Stage::kHeld,    Stage::kVerifying,
                             Stage::kConfirming, Stage::kProving, Stage::kOrdering};
constexpr ProgressEvent kEvents[] = {
    ProgressEvent::kGood,     ProgressEvent::kBad,        ProgressEvent::kExpected,
    ProgressEvent::kCutShort, ProgressEvent::kGoodShared, ProgressEvent::kBadShared,
    ProgressEvent::kVerify,   ProgressEvent::kAccept,     ProgressEvent::kInvalid};

TEST(CaseProgress, EachStageTakesOrRefusesEachEvent) {
  for (const Stage stage : kStages) {
    for (const ProgressEvent event : kEvents) {
      SCOPED_TRACE(testing::Message()
                   << "stage " << static_cast<int>(stage) << ", event " << static_cast<int>(event));
      check(stage, event);
    }
  }
}

// Returns the cells of the table at the top of case_progress.h, by row, without the names of the stages.
std::vector<std::vector<std::string>> table_of_header() {
  std::ifstream header(PROCTOR_SOURCE_DIR "/harness/runner/attempt/case_progress.h");
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(header, line) && line.starts_with("//");) {
    if (!line.starts_with("//   ") || line.starts_with("//   stage ")) continue;
    if (const auto space = line.find("go on"); space != std::string::npos) line.replace(space, 5, "go_on");
    std::istringstream words(line.substr(2));
    rows.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
    rows.back().erase(rows.back().begin());
  }
  return rows;
}

TEST(CaseProgress, TheTableOfTheHeaderIsThatOfTheCode) {
  const std::map<std::string, CaseProgress::Transition> transitions{
      {"count", {Action::kCount, Stage::kCounting}},
      {"order", {Action::kOrder, Stage::kCounting}},
      {"flaky", {Action::kFlaky, Stage::kProving}},
      {"confirmed", {Action::kConfirmed, Stage::kCounting}},
      {"hold", {Action::kHold, Stage::kHeld}},
      {"confirm", {Action::kConfirm, Stage::kConfirming}},
      {"accept", {Action::kAccept, Stage::kCounting}},
      {"verify", {Action::kRepeat, Stage::kVerifying}},
      {"go_on", {Action::kRepeat, Stage::kOrdering}},
      {"end", {Action::kEnd, Stage::kCounting}},
      {"dependent", {Action::kDependent, Stage::kCounting}}};
  const auto rows = table_of_header();
  ASSERT_EQ(rows.size(), std::size(kStages));
  for (const Stage stage : kStages) {
    const auto& row = rows[static_cast<std::size_t>(stage)];
    ASSERT_EQ(row.size(), std::size(kEvents));
    for (const ProgressEvent event : kEvents) {
      const std::string& cell = row[static_cast<std::size_t>(event)];
      const auto transition = CaseProgress::transition_of(stage, event);
      ASSERT_EQ(transition.has_value(), cell != "-") << cell;
      if (!transition) continue;
      const Stage again = stage == Stage::kHeld ? Stage::kCounting : stage;
      const auto expected =
          cell == "repeat" ? CaseProgress::Transition{Action::kRepeat, again} : transitions.at(cell);
      EXPECT_EQ(transition->action, expected.action) << cell;
      EXPECT_EQ(transition->next, expected.next) << cell;
    }
  }
}

}  // namespace
}  // namespace proctor
