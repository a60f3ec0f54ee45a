#include "harness/runner/schedule/run_stop.h"

#include <fmt/format.h>
#include <signal.h>

#include <utility>

namespace proctor {
namespace {

constexpr Milliseconds kStopBudget{4'500};
constexpr Milliseconds kKillBudget{1'000};  // after a second signal

}  // namespace

RunStop::RunStop(boost::asio::io_context& io, const RunSetup& setup, RunEvents& events, RunStage& stage,
                 PendingCases& pending, CaseEnds& ends, RunningGroups& groups, std::function<void()> over)
    : setup_(setup),
      events_(events),
      stage_(stage),
      pending_(pending),
      ends_(ends),
      groups_(groups),
      over_(std::move(over)),
      breaker_(setup.stop.max_machine_failures),
      deadline_(io),
      stress_over_(io),
      give_up_(io) {}

void RunStop::begin() {
  if (const auto turns = setup_.repeats.turns) {
    stress_over_.expires_at(events_.began() + *turns);
    stress_over_.async_wait([this](const auto& error) {
      if (!error) on_stress_over();
    });
  }
  if (!setup_.stop.deadline) return;
  deadline_.expires_at(events_.began() + *setup_.stop.deadline);
  deadline_.async_wait([this](const auto& error) {
    if (!error) on_deadline();
  });
}

// ---- finishing ----

void RunStop::case_ended(std::size_t index, const CaseEnded& ended) {
  const auto outcome = ended.verdict.outcome;
  const int most = setup_.stop.fail_fast;
  if (breaker_.add(ended.verdict)) {
    finish(StopCause::kMachineFailures,
           "the machine had failed " + std::to_string(breaker_.limit()) + " cases in a row");
  } else if (outcome != Outcome::kNotrun && is_bad(outcome, setup_.suite(index).kind->name()) &&
             ++failures_ == most) {
    finish(StopCause::kFailFast,
           most == 1 ? ended.case_id + " had failed" : fmt::format("{} cases had failed", most));
  }
}

void RunStop::finish(StopCause cause, const std::string& why) {
  if (!stage_.is_running() || (pending_.empty() && !groups_.may_begin_more())) return;
  report_value(0, cause);
  begin_no_more(reason_of_rest(cause), why);
}

// In a run with a time of --repeat, the cases keep the results that they have.
bool RunStop::begin_no_more(const ReasonText& reason, const std::string& why, bool at_once) {
  const CaseGroup::NoMore rest{.verdict = {Outcome::kNotrun, reason},
                               .note = "not started, because " + why,
                               .keeps = setup_.repeats.turns.has_value()};
  if (!stage_.finish(rest, at_once)) return false;
  groups_.begin_no_more();
  drop_pending(rest);
  return true;
}

// The regular end of such a run: nothing is stopped.
void RunStop::on_stress_over() {
  if (begin_no_more(Reason::kRunLimit, "the time of --repeat was over") && groups_.empty()) over_();
}

void RunStop::examine_journal() {
  if (!stage_.is_running() || !setup_.watcher->is_journal_full()) return;
  report_value(0, StopCause::kJournal);
  events_.on(
      Warning{WarningCode::kJournalFull,
              "the journal is nearly as long as its readers allow (2 GB): no more cases start; shorten "
              "--repeat, or divide the run into several"});
  begin_no_more(reason_of_rest(StopCause::kJournal), "the journal was full", /*at_once=*/true);
  if (groups_.empty()) over_();
}

// ---- stopping and killing ----

void RunStop::on_stop(int signal, StopCause cause) {
  if (cause == StopCause::kParentDied && stage_.signal())
    return;  // the signal that stopped this run also ended the parent: this is not a second request
  report_value(signal, cause);
  stage_.take_signal(signal);
  if (stage_.state() == RunStage::State::kKilling) return stop_groups(SIGKILL, Milliseconds(0), kKillBudget);
  drop_pending({{Outcome::kNotrun, Reason::kInterrupted}, "not started, because the run was stopped"});
  stop_groups(signal, kStopGrace, kStopBudget);
}

void RunStop::on_deadline() {
  if (!stage_.reach_deadline()) return;
  report_value(0, StopCause::kDeadline);
  drop_pending({{Outcome::kNotrun, Reason::kRunLimit}, "not started, because the run's time was used up"});
  stop_groups(SIGTERM, kStopGrace, kStopBudget);
}

void RunStop::report_value(int signal, StopCause cause) {
  events_.on(StopRequested{.signal = signal, .reason = cause, .at_ms = events_.ms_now()});
}

void RunStop::stop_groups(int signal, Milliseconds grace, Milliseconds budget) {
  groups_.stop(signal, grace);
  if (groups_.empty()) return over_();
  give_up_.expires_after(budget);
  give_up_.async_wait([this](const auto& error) {
    if (error) return;
    groups_.abandon();
    over_();
  });
}

}  // namespace proctor
