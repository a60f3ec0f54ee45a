#include "harness/run/case_progress.h"

#include <algorithm>

namespace proctor {

CaseProgress::Next CaseProgress::add(const Verdict& verdict, const std::vector<std::string>& marks,
                                     bool expected) {
  const bool bad = is_bad(verdict.outcome);
  (bad ? any_bad_ : any_good_) = true;
  for (const auto& mark : marks) {
    if (std::find(marks_.begin(), marks_.end(), mark) == marks_.end()) marks_.push_back(mark);
  }

  if (!decided_) verdict_ = verdict;
  if (verdict.outcome == Outcome::kNotrun) {  // cut short: whatever else was planned will not run either
    return Next::kDone;
  }
  if (bad && !expected && attempt_ <= policy_.retries) {
    ++attempt_;
    return Next::kRetry;
  }
  decided_ = decided_ || bad;
  if (repeat_ >= policy_.repeat || (bad && policy_.until_fail)) return Next::kDone;
  ++repeat_;
  attempt_ = 1;
  return Next::kRepeat;
}

std::vector<std::string> CaseProgress::marks() const {
  auto marks = marks_;
  if (any_good_ && any_bad_ && verdict_.outcome != Outcome::kNotrun) marks.push_back("flaky");
  return marks;
}

}  // namespace proctor
