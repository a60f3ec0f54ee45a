#include "harness/process/limit_clock.h"

namespace proctor {
namespace {

using boost::system::error_code;

constexpr Milliseconds kSuspiciousLateness{5000};  // a timer this late means that the runner was stopped

}  // namespace

LimitClock::LimitClock(boost::asio::io_context& io, std::shared_ptr<CaseOutput> output, OnHit on_hit)
    : timeout_timer_(io), stall_timer_(io), output_(std::move(output)), on_hit_(std::move(on_hit)) {}

void LimitClock::start(Clock::time_point begin, const ProcessLimits& limits) {
  stop();
  running_ = true;
  forgave_lateness_ = false;
  if (limits.timeout) arm_timeout(begin + *limits.timeout);
  if (limits.stall) arm_stall(*limits.stall);
}

void LimitClock::stop() {
  running_ = false;
  timeout_timer_.cancel();
  stall_timer_.cancel();
}

void LimitClock::arm_timeout(Clock::time_point deadline) {
  timeout_timer_.expires_at(deadline);
  timeout_timer_.async_wait([self = shared_from_this(), deadline](error_code ec) {
    // Expired just before another deadline was set: its completion was already queued.
    if (ec || !self->running_ || self->timeout_timer_.expiry() != deadline) return;
    if (const auto late = self->runner_was_stopped(deadline)) return self->arm_timeout(Clock::now() + *late);
    self->on_hit_(EndCause::kTimeout);
  });
}

void LimitClock::arm_stall(Milliseconds stall) {
  const Clock::time_point deadline = output_->last_activity() + stall;
  stall_timer_.expires_at(deadline);
  stall_timer_.async_wait([self = shared_from_this(), deadline, stall](error_code ec) {
    if (ec || !self->running_ || self->stall_timer_.expiry() != deadline) return;
    if (self->runner_was_stopped(deadline)) self->output_->forgive_silence();
    if (self->output_->last_activity() + stall > Clock::now()) return self->arm_stall(stall);
    self->on_hit_(EndCause::kStall);
  });
}

// A runner that was stopped for a minute must not blame the case: the first late timer gives the time back.
std::optional<Clock::duration> LimitClock::runner_was_stopped(Clock::time_point deadline) {
  const auto late = Clock::now() - deadline;
  if (late < kSuspiciousLateness || forgave_lateness_) return std::nullopt;
  forgave_lateness_ = true;
  return late;
}

}  // namespace proctor
