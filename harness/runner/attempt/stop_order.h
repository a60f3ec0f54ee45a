// Keeps the reason why the runner ends a process early. It also detects that a process ended by the same signal as the
// runner.
//
// Slurm and systemd send the signal that ends a job to all of its processes at once. A case may die before the runner
// receives the signal. That is an interruption, not a crash. Therefore an end that could be one is held back for a
// moment. It becomes an interruption only if the runner itself receives a signal. Otherwise the case keeps its verdict.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>

#include "harness/base/alive.h"
#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/journal/outcome.h"
#include "harness/process/process_spec.h"

namespace proctor {

class StopOrder {
 public:
  explicit StopOrder(boost::asio::io_context& io) : timer_(io) {}

  // Only the first reason counts. Reason::kInterrupted means that the caller of the run sent `signal`.
  void give(int signal, std::optional<Reason> reason);
  const std::optional<Reason>& reason() const { return reason_; }
  int signal() const { return signal_; }  // sent by the caller of the run; 0: none

  // Calls `then` with the end of a process when its cause is certain, at once or from the loop. The end is unchanged,
  // or has the cause kStopped.
  void settle(const ProcessEnd& end, std::function<void(const ProcessEnd&)> then);

 private:
  bool explains(const ProcessEnd& end) const;

  boost::asio::steady_timer timer_;
  std::optional<Reason> reason_{};
  int signal_ = 0;
  Clock::time_point interrupted_at_{};
  Alive alive_;
};

}  // namespace proctor
