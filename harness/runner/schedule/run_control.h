// The interface through which the caller of a run stops, suspends or inspects it. The run itself installs no signal
// handler and watches no process.
//
// Each request is one record in a pipe that the loop of the run reads. A request before the start of the run takes
// effect when the run starts. A stop after its last case waits until the caller reads it with late_stop().
//
// Any thread and any signal handler may call stop(), suspend(), dump() and state(). They are async-signal-safe and
// never block. The other functions belong to the thread of the run. A control serves one run at a time, and must
// outlive it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <type_traits>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"
#include "harness/journal/outcome.h"

namespace proctor {

class RunControl {
 public:
  enum class State { kNew, kRunning, kOver };
  enum class Request { kStop, kSuspend, kDump };
  struct Record {
    Request request = Request::kDump;
    int signal = 0;
    StopCause cause = StopCause::kSignal;
  };

  // The part that a suspended run stops: its process, or its whole process group.
  enum class Suspended { kProcess, kGroup };
  // Called while all cases are frozen. They continue when it returns.
  using Pause = void (*)(Suspended what);

  // `pause` may be null. A suspended run then continues at once.
  static Result<std::unique_ptr<RunControl>> open(Pause pause = nullptr);

  // The first stop sends `signal` to all cases; a second one kills them (runner.h).
  void stop(int signal, StopCause cause) const noexcept { write({Request::kStop, signal, cause}); }
  // Freezes the cases and calls the pause. No time limit counts this time.
  void suspend() const noexcept { write({.request = Request::kSuspend}); }
  // Prints the state of the cases on stderr.
  void dump() const noexcept { write({.request = Request::kDump}); }
  State state() const noexcept { return state_; }

  // run_plan() calls these functions. It calls end() after the last case and before the end of the run.
  void begin() { state_ = State::kRunning; }
  void end() { state_ = State::kOver; }
  int descriptor() const { return reader_.get(); }
  // Returns the next record of the pipe, or nothing if the pipe is empty.
  std::optional<Record> take() const;
  void pause(Suspended what) const {
    if (pause_ != nullptr) pause_(what);
  }

  // Returns the signal of the first stop after the last case, if there was one. The caller ends by this signal.
  std::optional<int> late_stop();

 private:
  RunControl(UniqueFd reader, UniqueFd writer, Pause pause)
      : reader_(std::move(reader)), writer_(std::move(writer)), pause_(pause) {}
  void write(const Record& record) const noexcept;

  const UniqueFd reader_;
  const UniqueFd writer_;
  const Pause pause_;
  std::atomic<State> state_ = State::kNew;
  std::optional<int> late_stop_;
};

static_assert(std::atomic<RunControl::State>::is_always_lock_free);
static_assert(std::is_trivially_copyable_v<RunControl::Record>);

}  // namespace proctor
