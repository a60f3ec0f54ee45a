#include "harness/runner/attempt/case_progress.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <utility>

#include "harness/journal/events.h"

namespace proctor {

CaseProgress::Action CaseProgress::action_of(Stage stage, Ending ending) {
  using enum Action;
  constexpr std::size_t kStages = 5;
  constexpr std::size_t kEndings = 5;
  constexpr std::array<std::array<Action, kEndings>, kStages> kActions{{
      {kCount, kCount, kCount, kCount, kCount},
      {kCount, kCount, kOrder, kCount, kBelieve},
      {kFlaky, kFlaky, kAgain, kAgain, kBelieve},
      {kGoOn, kGoOn, kEnd, kEnd, kEnd},
      {kEnd, kEnd, kDependent, kDependent, kEnd},
  }};
  return kActions[static_cast<std::size_t>(stage)][static_cast<std::size_t>(ending)];
}

CaseProgress::Ending CaseProgress::ending_of(const Verdict& verdict, bool expected) {
  if (verdict.outcome == Outcome::kNotrun) return Ending::kCutShort;
  if (is_bad(verdict.outcome)) return expected ? Ending::kExpected : Ending::kBad;
  return verdict.outcome == Outcome::kSkip ? Ending::kSkip : Ending::kGood;
}

CaseProgress::Next CaseProgress::add(const Verdict& verdict, const Marks& marks, bool expected,
                                     const std::vector<std::string>& where) {
  const Stage stage = std::exchange(stage_, Stage::kCounting);
  switch (action_of(stage, ending_of(verdict, expected))) {
    case Action::kCount:
      return count(verdict, marks, expected, where);
    case Action::kOrder:
      return count({Outcome::kFail, Reason::kOrder}, marks, /*expected=*/true, where);
    case Action::kFlaky: {
      bad_beside_ = true;
      add_mark(marks_, Mark::kFlaky);
      const Next next = count(verdict, marks, expected, where);
      const bool proves = next == Next::kDone && beside_.behind_others && !policy_.in_turns;
      return proves ? begin_proof(Stage::kProving) : next;
    }
    case Action::kAgain:
      bad_beside_ = true;
      return count(verdict, marks, expected, where);
    case Action::kBelieve:
      return count(beside_.verdict, marks, /*expected=*/true, where);
    case Action::kGoOn:
      keep_marks(marks);
      return begin_proof(Stage::kOrdering);
    case Action::kDependent:
      keep_marks(marks);
      add_mark(marks_, Mark::kOrderDependent);
      return Next::kDone;
    case Action::kEnd:
      keep_marks(marks);
      return Next::kDone;
  }
  return Next::kDone;
}

void CaseProgress::doubt(const Verdict& verdict, const std::vector<std::string>& where, bool behind_others) {
  assert(!is_proving());
  stage_ = is_bad(verdict.outcome) ? Stage::kConfirming : Stage::kVerifying;
  beside_ = {verdict, behind_others};
  if (!decided_) devices_ = where;
  disbelieve();
}

void CaseProgress::keep_marks(const Marks& marks) {
  for (const MarkWord& mark : marks) add_mark(marks_, mark);
}

CaseProgress::Next CaseProgress::believe() {
  assert(stage_ == Stage::kVerifying);
  stage_ = Stage::kCounting;
  return count(beside_.verdict, {}, /*expected=*/true, devices_);
}

CaseProgress::Next CaseProgress::begin_proof(Stage proof) {
  stage_ = proof;
  disbelieve();
  return Next::kRetry;
}

CaseProgress::Next CaseProgress::count(const Verdict& verdict, const Marks& marks, bool expected,
                                       const std::vector<std::string>& where) {
  const bool bad = is_bad(verdict.outcome);
  (bad ? bad_on_ : good_on_).insert(where);
  keep_marks(marks);

  if (!decided_) {
    verdict_ = verdict;
    devices_ = where;
  }
  if (verdict.outcome == Outcome::kNotrun) {  // cut short: whatever else was planned will not run either
    return Next::kDone;
  }
  if (bad && !expected && counted_attempts() <= policy_.retries) {
    ++attempt_;
    return Next::kRetry;
  }
  decided_ = decided_ || bad;
  const bool failed = std::exchange(bad_beside_, false) || bad;
  if (repeat_ - policy_.first_repeat + 1 >= policy_.repeat || (failed && policy_.until_fail))
    return Next::kDone;
  ++repeat_;
  attempt_ = 1;
  discounted_ = 0;
  last_shared_ = std::min(last_shared_, 1);
  return Next::kRepeat;
}

void CaseProgress::discount() {
  disbelieve();
  suspect_ = true;
}

void CaseProgress::taint() {
  add_mark(marks_, Mark::kTainted);
  disbelieve();
}

void CaseProgress::disbelieve() {
  ++attempt_;
  ++discounted_;
}

void CaseProgress::repeat_shared() {
  disbelieve();
  if (last_shared_ == 1) last_shared_ = attempt_;
}

Marks CaseProgress::marks() const {
  Marks marks = marks_;
  if (suspect_) add_mark(marks, Mark::kDeviceSuspect);
  if (good_on_.empty() || bad_on_.empty() || verdict_.outcome == Outcome::kNotrun) return marks;
  const bool one_device = bad_on_.size() == 1 && !good_on_.contains(*bad_on_.begin());
  add_mark(marks, one_device ? Mark::kDeviceSuspect : Mark::kFlaky);
  return marks;
}

}  // namespace proctor
