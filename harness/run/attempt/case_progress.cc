#include "harness/run/attempt/case_progress.h"

#include <algorithm>
#include <string_view>

#include "harness/core/events.h"

namespace proctor {

CaseProgress::Next CaseProgress::add(const Verdict& verdict, const Marks& marks, bool expected,
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
  if (repeat_ - policy_.first_repeat + 1 >= policy_.repeat || (bad && policy_.until_fail)) return Next::kDone;
  ++repeat_;
  attempt_ = 1;
  discounted_ = 0;
  return Next::kRepeat;
}

void CaseProgress::discount() {
  ++attempt_;
  ++discounted_;
  suspect_ = true;
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
