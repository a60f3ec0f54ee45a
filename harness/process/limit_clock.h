// The clocks of one attempt: how long it may take, and how long it may be silent. Both run in real time,
// except while the runner itself is stopped.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "harness/process/case_output.h"
#include "harness/process/process_spec.h"

namespace proctor {

class LimitClock : public std::enable_shared_from_this<LimitClock> {
 public:
  using OnHit = std::function<void(EndCause)>;  // kTimeout or kStall

  LimitClock(boost::asio::io_context& io, std::shared_ptr<CaseOutput> output, OnHit on_hit);

  // Sets new limits and forgets the old ones. The timeout counts from `begin`.
  void start(Clock::time_point begin, const ProcessLimits& limits);
  // No limit is reported after this, also none that has expired already.
  void stop();

 private:
  void arm_timeout(Clock::time_point deadline);
  void arm_stall(Milliseconds stall);
  std::optional<Clock::duration> runner_was_stopped(Clock::time_point deadline);

  boost::asio::steady_timer timeout_timer_;
  boost::asio::steady_timer stall_timer_;
  std::shared_ptr<CaseOutput> output_;
  OnHit on_hit_;
  bool running_ = false;
  bool forgave_lateness_ = false;
};

}  // namespace proctor
