#include <signal.h>

#include <algorithm>

#include "harness/run/schedule/run_loop.h"

namespace proctor {
namespace {

// A stop from outside must leave time for the reports: CI services kill a job seconds after they asked.
constexpr Milliseconds kStopGrace{3'500};
constexpr Milliseconds kStopBudget{4'500};
constexpr Milliseconds kKillBudget{1'000};  // after a second signal

}  // namespace

void Runner::finish(const std::string& reason, const std::string& why) {
  const bool rest = std::any_of(running_.begin(), running_.end(),
                                [](const Running& entry) { return !entry.begun || entry.group.is_shared(); });
  if (finishing_ || (pending_.empty() && !rest)) return;
  finishing_ = CaseGroup::NoMore{{Outcome::kNotrun, reason}, "not started, because " + why};
  request_stop(0, reason);
  for (auto& entry : running_) {
    if (entry.attempt) entry.attempt->begin_no_more();
  }
  drop_pending(finishing_->verdict, finishing_->note);
}

void Runner::request_stop(int signal, const std::string& reason) {
  const auto elapsed = std::chrono::duration_cast<Milliseconds>(Clock::now() - context_.run_started);
  sink_.on(StopRequested{.signal = signal, .reason = reason, .at_ms = elapsed.count()});
}

void Runner::on_signal(int signal, bool parent_died) {
  if (parent_died && stop_signal_)
    return;  // the signal that stopped us took the parent too: not a second wish
  request_stop(signal, parent_died ? "parent_died" : "signal");
  if (stop_signal_) return stop_running(SIGKILL, Milliseconds(0), kKillBudget);
  stop_signal_ = signal;
  stopping_ = true;
  drop_pending({Outcome::kNotrun, "interrupted"}, "not started, because the run was stopped");
  stop_running(signal, kStopGrace, kStopBudget);
}

void Runner::on_deadline() {
  if (stopping_) return;
  stopping_ = true;
  request_stop(0, "deadline");
  drop_pending({Outcome::kNotrun, "budget"}, "not started, because the run's time was used up");
  stop_running(SIGTERM, kStopGrace, kStopBudget);
}

void Runner::stop_running(int signal, Milliseconds grace, Milliseconds budget) {
  gate_.give_up();
  for (auto& entry : running_) entry.attempt->stop(signal, grace, why_stopped());
  if (running_.empty()) return leave();
  give_up_.expires_after(budget);
  give_up_.async_wait([this](const auto& error) {
    if (!error) abandon_running();
  });
}

void Runner::abandon_running() {
  for (auto& entry : running_) entry.attempt->abandon();
  for (auto& entry : running_) {
    ends_.announce(entry.group.give_up({Outcome::kNotrun, why_stopped()},
                                       "its processes did not die in time and may still run"));
  }
  running_.clear();
  leave();
}

}  // namespace proctor
