// Why the runner ends a process early, and whether a process that ended by itself was ended by the same signal.
//
// Slurm and systemd send the signal that ends a job to all of its processes at once. Then a case may die of it before
// the runner has heard of it: that is an interruption, not a crash. So an end that looks like one is held back for a
// moment. Only a signal to the runner itself makes it an interruption; a case that nobody interrupts keeps its verdict.
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

  // The first reason counts. Reason::kInterrupted: the caller of the run sent `signal`.
  void give(int signal, std::optional<Reason> reason);
  const std::optional<Reason>& reason() const { return reason_; }
  int signal() const { return signal_; }  // sent by the caller of the run; 0: by nobody

  // Hands over the end of a process once it is known what ended it, at once or from the loop: as it is, or with the
  // cause kStopped.
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
