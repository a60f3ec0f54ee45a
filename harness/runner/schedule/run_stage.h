// RunStage has the state of a run; runner.h describes the states. RunStop changes it, and the other parts of the run
// read it. Breaker counts machine outcomes, which end a run on a faulty machine.
//
//   state      finish()    reach_deadline()  take_signal()
//   running    finishing   stopping          stopping
//   finishing  -           stopping          stopping
//   stopping   -           -                 stopping; killing, if a signal came before
//   killing    -           -                 killing
#pragma once

#include <optional>
#include <utility>

#include "harness/journal/outcome.h"
#include "harness/runner/attempt/case_group.h"

namespace proctor {

// The state machine of the table above.
class RunStage {
 public:
  enum class State { kRunning, kFinishing, kStopping, kKilling };

  // The first two functions return whether the table has a new state for the call. Otherwise they change nothing. `why`
  // is the result of cases that have not begun. `at_once` means that no case starts its next attempt.
  bool finish(CaseGroup::NoMore why, bool at_once = false) {
    if (state_ != State::kRunning) return false;
    state_ = State::kFinishing;
    finishing_ = std::move(why);
    at_once_ = at_once;
    return true;
  }
  bool reach_deadline() {
    if (is_stopping()) return false;
    state_ = State::kStopping;
    return true;
  }
  void take_signal(int signal) {
    state_ = signal_ ? State::kKilling : State::kStopping;
    if (!signal_) signal_ = signal;
  }

  State state() const { return state_; }
  bool is_running() const { return state_ == State::kRunning; }
  // Returns whether the run ends the cases that have begun.
  bool is_stopping() const { return state_ == State::kStopping || state_ == State::kKilling; }
  // If set, no new case starts. It stays set while the run stops.
  const std::optional<CaseGroup::NoMore>& finishing() const { return finishing_; }
  bool finishes_at_once() const { return at_once_; }
  // The first signal.
  const std::optional<int>& signal() const { return signal_; }
  // Valid while the run stops.
  Reason why_stopped() const { return signal_ ? Reason::kInterrupted : Reason::kRunLimit; }

 private:
  State state_ = State::kRunning;
  std::optional<CaseGroup::NoMore> finishing_{};
  bool at_once_ = false;
  std::optional<int> signal_{};
};

// Ends a run on a faulty machine. After a certain number of machine outcomes in a row, further cases give no
// information about the code. Pure logic.
class Breaker {
 public:
  static constexpr int kDefault = 5;

  // `limit` 0: the run never ends.
  explicit Breaker(int limit) : limit_(limit) {}
  int limit() const { return limit_; }

  // Adds the verdict of the next case that ended. Returns true if the run must end now. A case that was not executed is
  // not evidence about the machine, and a command that does not exist is not either.
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
