#include "harness/runner/attempt/case_progress.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "harness/journal/events.h"

namespace proctor {

std::optional<CaseProgress::Transition> CaseProgress::transition_of(Stage stage, Event event) {
  using enum Stage;
  using Cell = std::optional<Transition>;
  constexpr Cell none;
  constexpr Cell count = Transition{Action::kCount, kCounting};
  constexpr Cell order = Transition{Action::kOrder, kCounting};
  constexpr Cell flaky = Transition{Action::kFlaky, kProving};
  constexpr Cell confirmed = Transition{Action::kConfirmed, kCounting};
  constexpr Cell hold = Transition{Action::kHold, kHeld};
  constexpr Cell confirm = Transition{Action::kConfirm, kConfirming};
  constexpr Cell verify = Transition{Action::kRepeat, kVerifying};
  constexpr Cell accept = Transition{Action::kAccept, kCounting};
  constexpr Cell go_on = Transition{Action::kRepeat, kOrdering};
  constexpr Cell depends = Transition{Action::kDependent, kCounting};
  constexpr Cell end = Transition{Action::kEnd, kCounting};
  constexpr auto repeat = [](Stage next) { return Cell(Transition{Action::kRepeat, next}); };
  constexpr std::array<std::array<Cell, 9>, 6> kTransitions{{
      {count, count, count, count, hold, confirm, none, none, repeat(kCounting)},
      {none, none, none, none, none, none, verify, accept, repeat(kCounting)},
      {count, order, count, accept, none, none, none, accept, repeat(kVerifying)},
      {flaky, confirmed, confirmed, accept, none, none, none, none, repeat(kConfirming)},
      {go_on, end, end, end, none, none, none, none, repeat(kProving)},
      {end, depends, depends, end, none, none, none, none, repeat(kOrdering)},
  }};
  return kTransitions[static_cast<std::size_t>(stage)][static_cast<std::size_t>(event)];
}

CaseProgress::Event CaseProgress::event_of(const Verdict& verdict, bool expected) {
  if (verdict.outcome == Outcome::kNotrun) return Event::kCutShort;
  if (!is_bad(verdict.outcome)) return Event::kGood;
  return expected ? Event::kExpected : Event::kBad;
}

CaseProgress::Next CaseProgress::add(const Verdict& verdict, const Marks& marks, bool expected,
                                     const std::vector<std::string>& where) {
  return apply(event_of(verdict, expected), {verdict, marks, where, expected});
}

// Marks of a bad attempt do not count: the attempt that confirms it has marks of its own. A held attempt has no retry.
void CaseProgress::add_shared(const Verdict& verdict, const Marks& marks,
                              const std::vector<std::string>& where, bool behind_others) {
  const bool bad = is_bad(verdict.outcome);
  apply(bad ? Event::kBadShared : Event::kGoodShared,
        {verdict, bad ? Marks{} : marks, where, /*expected=*/true, behind_others});
}

void CaseProgress::invalidate(Invalid why) {
  apply(Event::kInvalid, {});
  if (why == Invalid::kDeviceUnhealthy) suspect_ = true;
  if (why == Invalid::kDeviceFailed) add_mark(marks_, Mark::kInvalidated);
  if (why == Invalid::kNoResult && last_shared_ == 1) last_shared_ = attempt_;
}

CaseProgress::Next CaseProgress::apply(Event event, const Attempt& attempt) {
  const Transition transition = transition_of(stage_, event).value();
  stage_ = transition.next;
  switch (transition.action) {
    case Action::kCount:
      return count(attempt);
    case Action::kOrder:
      return count({{Outcome::kFail, Reason::kFailsAlone}, attempt.marks, attempt.where, /*expected=*/true});
    case Action::kFlaky: {
      bad_shared_ = true;
      add_mark(marks_, Mark::kFlaky);
      const Next next = count(attempt);
      if (next == Next::kDone && held_.behind_others && !policy_.in_turns) return try_again();
      stage_ = Stage::kCounting;
      return next;
    }
    case Action::kConfirmed:
      bad_shared_ = true;
      return count(attempt);
    case Action::kHold:
      held_ = attempt;
      return Next::kRetry;
    case Action::kConfirm:
      held_ = attempt;
      return try_again();
    case Action::kAccept:
      keep_marks(attempt.marks);
      return count(held_);
    case Action::kRepeat:
      keep_marks(attempt.marks);
      return try_again();
    case Action::kDependent:
      keep_marks(attempt.marks);
      add_mark(marks_, Mark::kOrderDependent);
      return Next::kDone;
    case Action::kEnd:
      keep_marks(attempt.marks);
      return Next::kDone;
  }
  return Next::kDone;
}

// Repeats the attempt without a retry.
CaseProgress::Next CaseProgress::try_again() {
  ++attempt_;
  ++not_counted_;
  return Next::kRetry;
}

void CaseProgress::keep_marks(const Marks& marks) {
  for (const MarkWord& mark : marks) add_mark(marks_, mark);
}

CaseProgress::Next CaseProgress::count(const Attempt& attempt) {
  const bool bad = is_bad(attempt.verdict.outcome);
  (bad ? bad_on_ : good_on_).insert(attempt.where);
  keep_marks(attempt.marks);

  if (!decided_) {
    verdict_ = attempt.verdict;
    devices_ = attempt.where;
  }
  if (attempt.verdict.outcome == Outcome::kNotrun) {  // cut short: remaining attempts will not run either
    return Next::kDone;
  }
  if (bad && !attempt.expected && counted_attempts() <= policy_.retries) {
    ++attempt_;
    return Next::kRetry;
  }
  decided_ = decided_ || bad;
  const bool failed = std::exchange(bad_shared_, false) || bad;
  if (repeat_ - policy_.first_repeat + 1 >= policy_.repeat || (failed && policy_.until_fail))
    return Next::kDone;
  ++repeat_;
  attempt_ = 1;
  not_counted_ = 0;
  last_shared_ = std::min(last_shared_, 1);
  return Next::kRepeat;
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
