#include "harness/process/limit_clock.h"

#include <algorithm>

namespace proctor {
namespace {

using boost::system::error_code;

constexpr int kStyles = 8;  // checks in one limit, within the next two bounds for a silent case
constexpr Milliseconds kShortestPoll{10};
constexpr Milliseconds kLongestPoll{1'000};
constexpr Milliseconds kOneTurn{1};

Milliseconds poll_interval(Milliseconds stall) {
  return std::clamp(stall / kStyles, kShortestPoll, kLongestPoll);
}

}  // namespace

LimitClock::LimitClock(boost::asio::io_context& io, std::shared_ptr<CaseOutput> output,
                       const FrozenTime& frozen, PressureGauge gauge, OnHit on_hit)
    : timeout_timer_(io),
      stall_timer_(io),
      output_(std::move(output)),
      frozen_(frozen),
      gauge_(std::move(gauge)),
      on_hit_(std::move(on_hit)) {}

void LimitClock::start(const ProcessLimits& limits, std::optional<Pressure> before) {
  stop();
  running_ = true;
  limits_ = limits;
  started_ = silent_ = {frozen_.known_now(), before};
  last_poll_ = started_.at;
  last_activity_ = output_->last_activity();
  timeout_seen_ = stall_seen_ = false;
  fair_.reset();
  if (limits.fair) fair_.emplace(gauge_, frozen_);
  if (limits.timeout)
    arm(timeout_timer_, before ? *limits.timeout : *limits.timeout / kStyles, &LimitClock::examine_timeout);
  if (limits.stall) arm(stall_timer_, poll_interval(*limits.stall), &LimitClock::examine_stall);
}

void LimitClock::stop() {
  running_ = false;
  timeout_timer_.cancel();
  stall_timer_.cancel();
}

void LimitClock::arm(boost::asio::steady_timer& timer, Milliseconds wait, void (LimitClock::*check)()) {
  timer.expires_after(wait);
  timer.async_wait([self = shared_from_this(), &timer, check, expiry = timer.expiry()](error_code ec) {
    // The timer expired just before it was set again: its completion was already queued.
    if (ec || !self->running_ || timer.expiry() != expiry) return;
    (self.get()->*check)();
  });
}

void LimitClock::examine_timeout() {
  if (!started_.before) started_.before = gauge_.now();
  const Milliseconds left = left_of_timeout();
  if (left > Milliseconds(0)) return arm(timeout_timer_, left, &LimitClock::examine_timeout);
  // The output that ends the case may still be unread.
  if (!std::exchange(timeout_seen_, true)) return arm(timeout_timer_, kOneTurn, &LimitClock::examine_timeout);
  hit(EndCause::kTimeout, *limits_.timeout, started_);
}

Milliseconds LimitClock::left_of_timeout() const {
  return fair_ ? fair_->left_of(*limits_.timeout) : left_of(*limits_.timeout, started_);
}

void LimitClock::examine_stall() {
  if (!silent_.before) silent_.before = gauge_.now();
  on_activity();
  const Milliseconds left = left_of(*limits_.stall, silent_);
  if (left > Milliseconds(0)) {
    return arm(stall_timer_, std::min(left, poll_interval(*limits_.stall)), &LimitClock::examine_stall);
  }
  if (!std::exchange(stall_seen_, true)) return arm(stall_timer_, kOneTurn, &LimitClock::examine_stall);
  hit(EndCause::kStall, *limits_.stall, silent_);
}

// Restarts the silence if the case wrote since the last check. The silence begins at that check at the
// earliest, whatever was frozen in between.
void LimitClock::on_activity() {
  const Clock::time_point now = frozen_.known_now();
  const Clock::time_point activity = output_->last_activity();
  const Clock::time_point looked_before = std::exchange(last_poll_, now);
  if (activity == last_activity_) return;
  last_activity_ = activity;
  stall_seen_ = false;
  silent_ = {std::max(looked_before, now - (Clock::now() - activity)), gauge_.now()};
}

Milliseconds LimitClock::left_of(Milliseconds limit, const Begin& begin) const {
  const auto now = frozen_.now();
  if (!now) return FrozenTime::kAskAgain;
  return std::chrono::ceil<Milliseconds>(std::max<Clock::duration>(limit - (*now - begin.at), {}));
}

void LimitClock::hit(EndCause cause, Milliseconds limit, const Begin& begin) {
  const Pressure now = gauge_.now();
  Pressure during = now - begin.before.value_or(now);
  during.cpu = std::min<Microseconds>(during.cpu, limit);
  on_hit_(cause, {.window = limit, .during = std::move(during)});
}

}  // namespace proctor
