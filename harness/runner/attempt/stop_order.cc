#include "harness/runner/attempt/stop_order.h"

#include <csignal>
#include <utility>

namespace proctor {
namespace {

// The longest time between the death of a case and the arrival of the signal at the runner. The sender may be
// descheduled in between.
constexpr Milliseconds kAfterStopSignal{500};
// The same for a process that handles the signal and exits with a code of its own. Each failed case waits for this
// time, so it is short. On a busy machine the signal may arrive later.
constexpr Milliseconds kAfterBadCode{20};
constexpr int kShellSignalBase = 128;

bool is_stop_signal(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

// Returns how long after this end a signal to the runner counts as its cause.
Milliseconds window_of(const ProcessEnd& end) {
  if (end.cause != EndCause::kExited) return Milliseconds(0);
  if (end.exit_signal) return is_stop_signal(*end.exit_signal) ? kAfterStopSignal : Milliseconds(0);
  const int code = end.exit_code.value_or(0);
  if (is_stop_signal(code - kShellSignalBase)) return kAfterStopSignal;
  return code != 0 ? kAfterBadCode : Milliseconds(0);
}

}  // namespace

void StopOrder::give(int signal, std::optional<Reason> reason) {
  if (reason_) return;
  reason_ = reason;
  if (reason != Reason::kInterrupted) return;
  signal_ = signal;
  interrupted_at_ = Clock::now();
  timer_.cancel();  // a held end is passed on now
}

bool StopOrder::explains(const ProcessEnd& end) const {
  const Milliseconds window = window_of(end);
  return window > Milliseconds(0) && reason_ == Reason::kInterrupted &&
         end.leader_ended + window >= interrupted_at_;
}

void StopOrder::settle(const ProcessEnd& end, std::function<void(const ProcessEnd&)> then) {
  const auto go_on = [this, end, then = std::move(then)] {
    ProcessEnd settled = end;
    if (explains(end)) settled.cause = EndCause::kStopped;
    then(settled);
  };
  const Milliseconds window = window_of(end);
  if (reason_ || window == Milliseconds(0)) return go_on();
  timer_.expires_at(end.leader_ended + window);
  timer_.async_wait(alive_.guard([go_on](const boost::system::error_code&) { go_on(); }));
}

}  // namespace proctor
