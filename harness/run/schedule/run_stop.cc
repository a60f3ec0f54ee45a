#include "harness/run/schedule/run_stop.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

namespace proctor {
namespace {

constexpr Milliseconds kStopBudget{4'500};
constexpr Milliseconds kKillBudget{1'000};  // after a second signal

}  // namespace

RunStop::RunStop(RunContext& run, RunningGroups& groups, std::function<void()> over)
    : run_(run),
      groups_(groups),
      over_(std::move(over)),
      breaker_(run.setup.stop.breaker),
      signals_(run.attempts.io, [this](int signal, bool parent_died) { on_signal(signal, parent_died); }),
      deadline_(run.attempts.io),
      stress_over_(run.attempts.io),
      give_up_(run.attempts.io) {}

void RunStop::begin() {
  if (run_.setup.stop.watch_parent && !signals_.watch_parent()) {
    run_.sink.on(
        Warning{WarningCode::kParentWatch, "the exit of the parent process cannot be detected here"});
  }
  if (const auto turns = run_.setup.repeats.turns) {
    stress_over_.expires_at(run_.attempts.run_started + *turns);
    stress_over_.async_wait([this](const auto& error) {
      if (!error) on_stress_over();
    });
  }
  if (!run_.setup.stop.deadline) return;
  deadline_.expires_at(run_.attempts.run_started + *run_.setup.stop.deadline);
  deadline_.async_wait([this](const auto& error) {
    if (!error) on_deadline();
  });
}

// ---- finishing ----

void RunStop::case_ended(std::size_t index, const CaseEnded& ended) {
  const auto outcome = ended.verdict.outcome;
  const int most = run_.setup.stop.fail_fast;
  if (breaker_.add(ended.verdict)) {
    finish(StopCause::kBreaker,
           "the machine had failed " + std::to_string(breaker_.limit()) + " cases in a row");
  } else if (outcome != Outcome::kNotrun && is_bad(outcome, run_.suite(index).kind->name()) &&
             ++failures_ == most) {
    finish(StopCause::kFailFast,
           most == 1 ? ended.case_id + " had failed" : fmt::format("{} cases had failed", most));
  }
}

void RunStop::finish(StopCause cause, const std::string& why) {
  const bool rest = std::any_of(groups_.begin(), groups_.end(),
                                [](const RunningGroup& group) { return group.may_begin_more(); });
  if (run_.finishing || (run_.pending.empty() && !rest)) return;
  tell(0, cause);
  begin_no_more(reason_of_rest(cause), why);
}

// In a stress, what the cases have come to stands.
void RunStop::begin_no_more(const ReasonText& reason, const std::string& why) {
  run_.finishing = CaseGroup::NoMore{.verdict = {Outcome::kNotrun, reason},
                                     .note = "not started, because " + why,
                                     .keeps = run_.setup.repeats.turns.has_value()};
  for (auto& group : groups_) {
    if (auto* attempt = group.attempt()) attempt->begin_no_more();
  }
  run_.drop_pending(*run_.finishing);
}

// It ends as it was meant to: nothing is stopped.
void RunStop::on_stress_over() {
  if (run_.stopping || run_.finishing) return;
  begin_no_more(Reason::kBudget, "the time of --repeat was over");
  if (groups_.empty()) over_();
}

void RunStop::look_at_journal() {
  const auto& is_full = run_.setup.stop.journal_is_full;
  if (run_.stopping || run_.finishing || !is_full || !is_full()) return;
  run_.journal_is_full = true;
  tell(0, StopCause::kJournal);
  run_.sink.on(
      Warning{WarningCode::kJournalFull,
              "the journal is nearly as long as its readers allow (2 GB): no more cases start; shorten "
              "--repeat, or divide the run into several"});
  begin_no_more(reason_of_rest(StopCause::kJournal), "the journal was full");
  if (groups_.empty()) over_();
}

// ---- stopping and killing ----

void RunStop::on_signal(int signal, bool parent_died) {
  if (parent_died && run_.stop_signal)
    return;  // the signal that stopped us took the parent too: not a second wish
  tell(signal, parent_died ? StopCause::kParentDied : StopCause::kSignal);
  if (run_.stop_signal) return stop_groups(SIGKILL, Milliseconds(0), kKillBudget);
  run_.stop_signal = signal;
  run_.stopping = true;
  run_.drop_pending({{Outcome::kNotrun, Reason::kInterrupted}, "not started, because the run was stopped"});
  stop_groups(signal, kStopGrace, kStopBudget);
}

void RunStop::on_deadline() {
  if (run_.stopping) return;
  run_.stopping = true;
  tell(0, StopCause::kDeadline);
  run_.drop_pending({{Outcome::kNotrun, Reason::kBudget}, "not started, because the run's time was used up"});
  stop_groups(SIGTERM, kStopGrace, kStopBudget);
}

void RunStop::tell(int signal, StopCause cause) {
  const auto elapsed = std::chrono::duration_cast<Milliseconds>(Clock::now() - run_.attempts.run_started);
  run_.sink.on(StopRequested{.signal = signal, .reason = cause, .at_ms = elapsed.count()});
}

void RunStop::stop_groups(int signal, Milliseconds grace, Milliseconds budget) {
  run_.visits.give_up();
  for (auto& group : groups_) group.attempt()->stop(signal, grace, run_.why_stopped());
  if (groups_.empty()) return over_();
  give_up_.expires_after(budget);
  give_up_.async_wait([this](const auto& error) {
    if (!error) abandon_groups();
  });
}

void RunStop::abandon_groups() {
  for (auto& group : groups_) group.attempt()->abandon();
  for (auto& group : groups_) group.settle({});
  for (auto& group : groups_)
    group.give_up(
        {{Outcome::kNotrun, run_.why_stopped()}, "its processes did not exit in time and may still run"});
  groups_.clear();
  over_();
}

}  // namespace proctor
