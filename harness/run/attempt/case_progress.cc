#include "harness/run/attempt/case_progress.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "harness/core/events.h"

namespace proctor {

CaseProgress::Next CaseProgress::add(const Verdict& verdict, const Marks& marks, bool expected,
                                     const std::vector<std::string>& where) {
  const std::optional<Verdict> beside = std::exchange(beside_, std::nullopt);
  return beside ? settle(*beside, verdict, marks, expected, where) : count(verdict, marks, expected, where);
}

void CaseProgress::doubt(const Verdict& verdict, const std::vector<std::string>& where) {
  beside_ = verdict;
  if (!decided_) devices_ = where;
  ++attempt_;
  ++discounted_;
}

CaseProgress::Next CaseProgress::believe() {
  return count(*std::exchange(beside_, std::nullopt), {}, /*expected=*/true, devices_);
}

// The first attempt alone after one beside others.
CaseProgress::Next CaseProgress::settle(const Verdict& beside, const Verdict& verdict, const Marks& marks,
                                        bool expected, const std::vector<std::string>& where) {
  if (verdict.outcome == Outcome::kNotrun) return count(beside, marks, /*expected=*/true, where);
  const bool was_bad = is_bad(beside.outcome);
  bad_beside_ = was_bad;
  if (was_bad && !is_bad(verdict.outcome)) {
    add_mark(marks_, Mark::kOrderDependent);
    add_mark(marks_, Mark::kFlaky);
  }
  if (was_bad || expected || !is_bad(verdict.outcome)) return count(verdict, marks, expected, where);
  return count({Outcome::kFail, Reason::kOrder}, marks, /*expected=*/true, where);
}

CaseProgress::Next CaseProgress::count(const Verdict& verdict, const Marks& marks, bool expected,
                                       const std::vector<std::string>& where) {
  const bool bad = is_bad(verdict.outcome);
  (bad ? bad_on_ : good_on_).insert(where);
  for (const MarkWord& mark : marks) add_mark(marks_, mark);

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
