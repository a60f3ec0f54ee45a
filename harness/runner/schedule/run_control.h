// How the caller of a run stops, suspends or inspects it. The run itself installs no signal handler and watches no process.
//
// Each request is one record in a pipe that the loop of the run reads. Thus a request before the beginning of the run takes
// effect when it begins. A stop after its last case waits until the caller takes it: late_stop().
//
// stop(), suspend(), dump() and state() may be called by any thread and by signal handlers: they are async-signal-safe and
// never wait. The other functions belong to the thread of the run. A control has one run at a time, and outlives it.
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

  // A suspended run stops its process, or its whole process group.
  enum class Suspended { kProcess, kGroup };
  // Called while all cases are frozen. They go on when it returns.
  using Pause = void (*)(Suspended what);

  // `pause` may be null: then a suspended run goes on at once.
  static Result<std::unique_ptr<RunControl>> open(Pause pause = nullptr);

  // The first stop sends `signal` to all cases; a second one kills them (runner.h).
  void stop(int signal, StopCause cause) const noexcept { write({Request::kStop, signal, cause}); }
  // Freezes the cases and calls the pause. No limit counts its time.
  void suspend() const noexcept { write({.request = Request::kSuspend}); }
  // Prints what the cases are doing on stderr.
  void dump() const noexcept { write({.request = Request::kDump}); }
  State state() const noexcept { return state_; }

  // For run_plan(). end() is after the last case and before the end of the run.
  void begin() { state_ = State::kRunning; }
  void end() { state_ = State::kOver; }
  int descriptor() const { return reader_.get(); }
  // The next record, if the pipe has one.
  std::optional<Record> take() const;
  void pause(Suspended what) const {
    if (pause_ != nullptr) pause_(what);
  }

  // The signal of the first stop after the end of the run, if there is one. The caller ends by it.
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
