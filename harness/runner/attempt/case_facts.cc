#include "harness/runner/attempt/case_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "harness/base/text.h"
#include "harness/journal/child_protocol.h"
#include "harness/process/frozen_time.h"
#include "harness/runner/attempt/ranks_of_case.h"
#include "harness/runner/attempt/verdict.h"
#include "harness/runner/attempt/waits.h"

namespace proctor {
namespace {

constexpr double kSlowShare = 0.5;  // share of the time limit

void add_failure(AttemptEnded& event, std::string message) {
  Failure failure;
  failure.message = std::move(message);
  event.failures.push_back(std::move(failure));
}

const CaseTracker::Open& open_case(const CaseFacts& facts) { return *facts.cases.open(); }
const Case& test_of(const CaseFacts& facts) { return *facts.cases.blamed().test; }

// Returns whether the process hung after the end of the case. The framework is then at fault, not the case.
bool hung_after_its_end(const CaseFacts& facts) {
  const ProcessEnd* end = facts.end;
  if (end == nullptr || (end->cause != EndCause::kTimeout && end->cause != EndCause::kStall)) return false;
  return (facts.plan.is_batch() || test_of(facts).policy.shutdown) && open_case(facts).reported.has_value();
}

bool is_leaky(const ProcessEnd& end) {
  return end.cause == EndCause::kExited && !end.termination.leaked_processes.empty();
}

// If several cases ran, the case that started the leaked process is not known.
bool is_left_by_one(const CaseTracker& cases) { return cases.begun().size() <= 1; }

std::string leaked_text(const std::vector<LeakedProcess>& leaked_processes) {
  std::vector<std::string> texts;
  for (const LeakedProcess& leaked : leaked_processes)
    texts.push_back(fmt::format("process {} ({})", leaked.pid, clean_text(leaked.command)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

Verdict judge_case(const CaseFacts& facts) {
  const ProcessEnd* end = facts.end;
  const bool ready = facts.readiness && facts.readiness->is_ready();
  const Suite& suite = *facts.plan.suite;
  AttemptEvidence evidence{.kind = {suite.kind, suite.skip_code},
                           .stop_reason = facts.stop.reason().value_or(Reason::kInterrupted),
                           .child = facts.cases.child(),
                           .went_on = end == nullptr,
                           .another_was_bad = facts.cases.another_was_bad(),
                           .after_end = hung_after_its_end(facts),
                           .starting = facts.cases.is_starting(),
                           .starved = end != nullptr && end->at_limit.is_starved(),
                           .not_ready = facts.readiness && !ready,
                           .reported_to_end = ready ? facts.stop.signal() : 0};
  if (end) {
    evidence.cause = end->cause;
    evidence.spawn_error = end->spawn_error;
    evidence.exit_code = end->exit_code;
    evidence.exit_signal = end->exit_signal;
    evidence.forbidden_leak =
        is_leaky(*end) && is_left_by_one(facts.cases) && test_of(facts).policy.leaks_fail;
  }
  const Verdict verdict = facts.ranks ? facts.ranks->judge(evidence) : judge(evidence);
  // The process was stopped because of contradictory events.
  const bool is_cut_short = verdict.outcome == Outcome::kNotrun && !facts.cases.why_unreliable().empty();
  if (is_cut_short && !evidence.child.failures().empty()) return {Outcome::kFail, evidence.child.reason()};
  return verdict;
}

void describe_process(const CaseFacts& facts, const ProcessEnd& end, AttemptEnded& event) {
  event.exit_code = end.exit_code;
  event.exit_signal = end.exit_signal;
  event.termination = end.termination;
  event.termination.kill_duration_ms = end.kill_to_empty.count();
  event.evidence = facts.evidence;
  event.output = end.output;
  if (end.spawn_error) {
    add_failure(event, "failed to " + end.spawn_error->step + " " + test_of(facts).argv.front() + ": " +
                           std::strerror(end.spawn_error->err));
  } else {
    const bool shared = facts.plan.is_batch();
    event.duration_ms =
        shared ? facts.cases.lasted(end.leader_ended).count() : ms_between(end.started, end.leader_ended);
  }
  if (is_leaky(end)) {
    if (is_left_by_one(facts.cases)) {
      event.marks.emplace_back(Mark::kLeaky);
    } else {
      event.termination.leaked_by = facts.cases.begun();
    }
  }
  if (!end.termination.guard_lost.empty()) event.marks.emplace_back(Mark::kGuardLost);
}

void describe_output(const CaseFacts& facts, AttemptEnded& event) {
  const bool bad = is_bad(event.verdict.outcome);
  const bool shared = facts.plan.is_batch();
  const std::string& own = facts.cases.child().output();
  event.output.log = facts.run_files.log_that_is_there(facts.files.log, shared || bad);
  // A failed case shows its own output, not the output of all cases, if the framework reports it separately. A
  // framework with its own stream may have kept the output from the log.
  const bool kept = shared || facts.plan.reporting_mode() == ReportingMode::kStream;
  if (kept && !own.empty() && event.verdict.outcome == Outcome::kFail) {
    event.output.stdout_tail = own;
    event.output.stderr_tail.clear();
  }
  if (!bad) {  // the log has the output, and a journal of passes stays small
    event.output.stdout_tail.clear();
    event.output.stderr_tail.clear();
  }
}

// Adds failures about events that are wrong or missing, and the marks that follow from events.
void describe_words(const CaseFacts& facts, AttemptEnded& event) {
  const ChildReport& child = facts.cases.child();
  if (!child.also_ran().empty()) {
    const bool again = child.also_ran() == facts.plan.kind().name_for_child(test_of(facts));
    add_failure(event, again ? "the program ran the case more than once"
                             : "the program also ran a case that was not requested: " + child.also_ran());
  }
  if (!facts.result_refused.empty()) add_failure(event, facts.result_refused);
  if (child.violations() > 0) {
    add_failure(event, "wrote " + std::to_string(child.violations()) + " lines to " +
                           child::kEventsFdVariable +
                           " that are not its events; the first: " + child.first_violation());
  }
  if (!child.warnings().empty()) event.marks.emplace_back(Mark::kWarn);
  if (!child.failed_tries().empty() && !is_bad(event.verdict.outcome)) event.marks.emplace_back(Mark::kFlaky);
}

AttemptEnded what_it_said(const CaseFacts& facts) {
  const AttemptCase& entry = facts.cases.blamed();
  const ChildReport& child = facts.cases.child();
  AttemptEnded event;
  event.case_id = entry.test->id;
  event.attempt = entry.attempt;
  event.repeat = entry.repeat;
  event.at_ms = facts.at_ms;
  event.last_step = child.last_step();
  event.failures = child.failures();
  event.failures.insert(event.failures.end(), child.failed_tries().begin(), child.failed_tries().end());
  event.measures = child.measures();
  event.properties = child.properties();
  event.trials = child.trials();
  if (facts.readiness && facts.readiness->is_ready()) event.measures.push_back(*facts.readiness->measure());
  event.rule = child.rule();
  event.source = child.source();
  event.severity = child.severity();
  return event;
}

}  // namespace

AttemptEnded describe(const CaseFacts& facts) {
  const ProcessEnd* end = facts.end;
  const CasePolicy& policy = test_of(facts).policy;
  AttemptEnded event = what_it_said(facts);
  event.verdict = judge_case(facts);
  if (hung_after_its_end(facts)) {
    const auto& shared = facts.plan.suite->policy;
    const auto& limit = end->cause == EndCause::kStall ? shared.stall
                        : policy.shutdown              ? policy.shutdown
                                                       : shared.timeout;
    add_failure(event, fmt::format("the case had ended, but its process had not exited {} later",
                                   format_duration(limit.value_or(Milliseconds(0)))));
  }
  if (end) {
    describe_process(facts, *end, event);
  } else {
    event.duration_ms = facts.cases.lasted(Clock::now()).count();
  }
  describe_output(facts, event);
  describe_words(facts, event);
  const bool slow = policy.timeout && static_cast<double>(event.duration_ms) >
                                          kSlowShare * static_cast<double>(policy.timeout->count());
  if (slow && (!end || end->cause == EndCause::kExited)) event.marks.emplace_back(Mark::kSlow);
  if (facts.ranks) describe_ranks(*facts.ranks, facts.run_files, facts.plan, end, event);
  if (end) {
    for (std::string& text : waits_at_limit(end->at_limit)) add_failure(event, std::move(text));
  }
  return event;
}

std::vector<Warning> warnings_of(const ProcessEnd& end, const CaseTracker& cases, Milliseconds frozen) {
  std::vector<Warning> warnings;
  const std::string& case_id = cases.blamed().test->id;
  const auto& termination = end.termination;
  if (end.guard_late > Milliseconds(0))
    warnings.push_back(
        Warning{WarningCode::kGuardSlow, fmt::format("the guard of {} took {} to answer: the machine is busy",
                                                     case_id, human_duration(end.guard_late))});
  if (end.cgroup_lost) {
    warnings.push_back(Warning{WarningCode::kGuardLost, fmt::format("{} was not ended by its own fault: {}",
                                                                    case_id, termination.guard_lost)});
  } else if (!termination.guard_lost.empty()) {
    warnings.push_back(Warning{
        WarningCode::kGuardLost,
        fmt::format("the guard of {} failed ({}){}", case_id, termination.guard_lost,
                    termination.unkillable ? "; the runner could not kill all of its processes"
                                           : "; the runner killed the case, and no process is left")});
  }
  if (is_leaky(end) && !is_left_by_one(cases))
    warnings.push_back({WarningCode::kSharedProcessLeak,
                        fmt::format("the process that ended with {} left {} behind, killed now: any of its "
                                    "{} cases may have started {}",
                                    case_id, leaked_text(termination.leaked_processes), cases.begun().size(),
                                    termination.leaked_processes.size() == 1 ? "it" : "them")});
  if (frozen >= FrozenTime::kNotable)
    warnings.push_back(Warning{WarningCode::kRunnerFrozen,
                               "the runner did not run for " + human_duration(frozen) +
                                   ": it was frozen, stopped or suspended; no limit counts this time"});
  if (!end.pass_through_lost.empty())
    warnings.push_back(
        Warning{WarningCode::kOutputNotWritten,
                "the output of " + case_id + " was not passed on in full: " + end.pass_through_lost});
  if (end.broken_commands > 0)
    warnings.push_back(
        Warning{WarningCode::kWorkflowCommands,
                std::to_string(end.broken_commands) + " workflow commands in the output of " + case_id +
                    " were escaped with a backslash; use --workflow-commands to pass them through"});
  return warnings;
}

}  // namespace proctor
