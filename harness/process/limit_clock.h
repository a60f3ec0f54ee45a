// Enforces the two limits of one attempt: its total time, and its time without output. Both count real time
// without frozen time. At a limit, the clock also reports the waits of the case. ContainedProcess ends the
// case.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "harness/process/case_output.h"
#include "harness/process/fair_time.h"
#include "harness/process/frozen_time.h"
#include "harness/process/host_usage.h"
#include "harness/process/process_spec.h"

namespace proctor {

class LimitClock : public std::enable_shared_from_this<LimitClock> {
 public:
  // Called with kTimeout or kStall, and the waits of the case.
  using OnHit = std::function<void(EndCause, const Starvation&)>;

  LimitClock(boost::asio::io_context& io, std::shared_ptr<CaseOutput> output, const FrozenTime& frozen,
             PressureGauge gauge, OnHit on_hit);

  // Replaces the limits. Both count from now. `before`: the waits of the case until now. If it is nullopt,
  // they are measured after an eighth of the limit, because most cases have ended by then.
  void start(const ProcessLimits& limits, std::optional<Pressure> before);
  // After this call no limit is reported, not even one that has already expired.
  void stop();

 private:
  // The beginning of a limit, on the clock without frozen time.
  struct Begin {
    Clock::time_point at;
    std::optional<Pressure> before;
  };

  void arm(boost::asio::steady_timer& timer, Milliseconds wait, void (LimitClock::*check)());
  void examine_timeout();
  void examine_stall();
  void on_activity();
  // Returns the remaining time. Zero: the limit is reached.
  Milliseconds left_of(Milliseconds limit, const Begin& begin) const;
  Milliseconds left_of_timeout() const;
  void hit(EndCause cause, Milliseconds limit, const Begin& begin);

  boost::asio::steady_timer timeout_timer_;
  boost::asio::steady_timer stall_timer_;
  std::shared_ptr<CaseOutput> output_;
  const FrozenTime& frozen_;
  PressureGauge gauge_;
  OnHit on_hit_;
  ProcessLimits limits_;
  Begin started_{};
  Begin silent_{};
  std::optional<FairTime> fair_;       // for a limit that does not count waits for a CPU
  Clock::time_point last_activity_{};  // time at which `silent_` begins
  Clock::time_point last_poll_{};      // last check for activity, on the clock without frozen time
  bool timeout_seen_ = false;          // reached once: pending output is read first
  bool stall_seen_ = false;
  bool running_ = false;
};

}  // namespace proctor
