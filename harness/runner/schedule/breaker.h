// Ends a run on a sick machine: after a certain number of machine outcomes in a row, further cases would say
// nothing about the code. Pure logic.
#pragma once

#include "harness/journal/outcome.h"

namespace proctor {

class Breaker {
 public:
  static constexpr int kDefault = 5;

  // 0: never.
  explicit Breaker(int limit) : limit_(limit) {}
  int limit() const { return limit_; }

  // Takes the verdict of the next case that ended; true if the run must end now. A case that was not executed
  // says nothing about the machine, and neither does a command that does not exist.
  bool add(const Verdict& verdict) {
    if (verdict.outcome == Outcome::kNotrun || verdict.outcome == Outcome::kSkip) return false;
    if (verdict.outcome == Outcome::kError && verdict.reason == Reason::kSpawn &&
        !is_machine_outcome(verdict))
      return false;
    in_a_row_ = is_machine_outcome(verdict) ? in_a_row_ + 1 : 0;
    return limit_ > 0 && in_a_row_ == limit_;
  }

 private:
  int limit_;
  int in_a_row_ = 0;
};

}  // namespace proctor
