#include "harness/run/attempt/case_progress.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "harness/core/events.h"

namespace proctor {

CaseProgress::Next CaseProgress::add(const Verdict& verdict, const Marks& marks, bool expected,
                                     const std::vector<std::string>& where) {
  if (is_proving()) return prove(verdict, marks);
  const std::optional<Beside> beside = std::exchange(beside_, std::nullopt);
  return beside ? settle(*beside, verdict, marks, expected, where) : count(verdict, marks, expected, where);
}

void CaseProgress::doubt(const Verdict& verdict, const std::vector<std::string>& where, bool behind_others,
                         bool may_be_skip) {
  beside_ = Beside{verdict, behind_others, may_be_skip};
  if (!decided_) devices_ = where;
  ++attempt_;
  ++discounted_;
}

void CaseProgress::keep_marks(const Marks& marks) {
  for (const MarkWord& mark : marks) add_mark(marks_, mark);
}

CaseProgress::Next CaseProgress::believe() {
  return count(std::exchange(beside_, std::nullopt)->verdict, {}, /*expected=*/true, devices_);
}

// The first attempt alone after one beside others.
CaseProgress::Next CaseProgress::settle(const Beside& beside, const Verdict& verdict, const Marks& marks,
                                        bool expected, const std::vector<std::string>& where) {
  if (verdict.outcome == Outcome::kNotrun)
    return count(beside.may_be_skip ? verdict : beside.verdict, marks, /*expected=*/true, where);
  const bool was_skip = beside.may_be_skip && verdict.outcome == Outcome::kSkip;
  const bool was_bad = is_bad(beside.verdict.outcome) && !was_skip;
  bad_beside_ = was_bad;
  if (was_bad && !is_bad(verdict.outcome)) {
    add_mark(marks_, Mark::kFlaky);
    const Next next = count(verdict, marks, expected, where);
    const bool proves = next == Next::kDone && beside.behind_others && !policy_.in_turns;
    return proves ? begin_proof(Proof::kAlone) : next;
  }
  if (was_bad || expected || !is_bad(verdict.outcome)) return count(verdict, marks, expected, where);
  return count({Outcome::kFail, Reason::kOrder}, marks, /*expected=*/true, where);
}

CaseProgress::Next CaseProgress::begin_proof(Proof proof) {
  proof_ = proof;
  disbelieve();
  return Next::kRetry;
}

CaseProgress::Next CaseProgress::prove(const Verdict& verdict, const Marks& marks) {
  const Proof proof = std::exchange(proof_, Proof::kNone);
  keep_marks(marks);
  const bool good = !is_bad(verdict.outcome);
  if (proof == Proof::kAlone && good) return begin_proof(Proof::kSameOrder);
  if (proof == Proof::kSameOrder && !good && verdict.outcome != Outcome::kNotrun)
    add_mark(marks_, Mark::kOrderDependent);
  return Next::kDone;
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

Marks CaseProgress::marks() const {
  Marks marks = marks_;
  if (suspect_) add_mark(marks, Mark::kDeviceSuspect);
  if (good_on_.empty() || bad_on_.empty() || verdict_.outcome == Outcome::kNotrun) return marks;
  const bool one_device = bad_on_.size() == 1 && !good_on_.contains(*bad_on_.begin());
  add_mark(marks, one_device ? Mark::kDeviceSuspect : Mark::kFlaky);
  return marks;
}

}  // namespace proctor
