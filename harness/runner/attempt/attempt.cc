#include "harness/runner/attempt/attempt.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "harness/process/containment.h"
#include "harness/runner/attempt/attempt_spec.h"
#include "harness/runner/attempt/ranks_of_case.h"
#include "harness/runner/attempt/result_file.h"
#include "harness/runner/attempt/shared_memory.h"
#include "harness/runner/attempt/unexplained_end.h"

namespace proctor {

RunningAttempt::RunningAttempt(boost::asio::io_context& io, Containment& containment,
                               const AttemptSetup& setup, RunFiles& run_files, CoreFiles& cores,
                               CaseObserver& observer, RunEvents& events, AttemptPlan plan,
                               AttemptListener& listener)
    : setup_(setup),
      run_files_(run_files),
      observer_(observer),
      events_(events),
      plan_(std::move(plan)),
      listener_(listener),
      observed_(observer.begin_process(plan_)),
      files_(run_files.make(plan_)),
      cases_(plan_, has_startup_clock(setup, plan_)),
      stop_(io),
      snapshot_(io, containment, setup, run_files, cores) {
  const Kind& kind = plan_.kind();
  const ReportingMode reporting_mode = plan_.reporting_mode();
  if (reporting_mode == ReportingMode::kStream || reporting_mode == ReportingMode::kFile)
    by_.translator = kind.translator(*plan_.suite, *plan_.first().test);
  if (reporting_mode == ReportingMode::kFileOfSeveral) {
    const auto on_end = [this] {
      cases_.mark_reported(Clock::now());
      process_->restart_clock(limits_after_end(setup_, plan_, *cases_.blamed().test));
    };
    const auto on_begin = [this](std::size_t which) { begin_next(which); };
    by_.results = std::make_unique<BatchResults>(plan_, BatchResults::Listener{on_begin, on_end});
  }
  if (!plan_.ranks.empty())
    by_.ranks = std::make_unique<RankReports>(kind.name_for_child(*plan_.first().test), kind,
                                              plan_.ranks.size(), plan_.suite->skip_code);
  if (!plan_.is_batch()) begin(0, Clock::now());
  process_ =
      ContainedProcess::start(io, containment, make_process(), alive_.guard([this](const ProcessEnd& end) {
        snapshot_.process_ended(end);
        stop_.settle(end, alive_.guard([this](const ProcessEnd& settled) { on_process_end(settled); }));
      }));
}

RunningAttempt::~RunningAttempt() { alive_.end(); }

ProcessSpec RunningAttempt::make_process() {
  ProcessSpec spec = make_spec(setup_, plan_, files_);
  spec.core_limit = snapshot_.allow_core_in(files_.directory);
  if (by_.ranks) make_rank_supervisor(setup_, plan_, run_files_, files_, spec);
  if (spec.events) spec.on_event_line = alive_.guard([this](std::string_view line) { on_line(line); });
  spec.on_limit = alive_.guard(
      [this](int guard_pid, std::function<void()> then) { on_limit(guard_pid, std::move(then)); });
  spec.on_stopped = alive_.guard([this] { listener_.on_stopped(); });
  if (setup_.output || setup_.ready || by_.results)
    spec.on_output =
        alive_.guard([this](Stream stream, std::string_view bytes) { on_output(stream, bytes); });
  if (!setup_.ready) return spec;
  // A server first has the time limit of its readiness. When it is ready, the limit of the case applies.
  readiness_.emplace(*setup_.ready, Clock::now());
  if (readiness_->timeout()) spec.limits.timeout = readiness_->timeout();
  return spec;
}

// ---- Output and events of the process ----

void RunningAttempt::on_line(std::string_view line) {
  if (by_.ranks) return by_.ranks->add_line(line);
  if (!by_.translator) return on_event(line);
  for (const auto& event : by_.translator->translate(fmt::format("{}\n", line))) on_event(event);
}

void RunningAttempt::on_event(std::string_view line) {
  if (const auto which = cases_.begun_by(line); which && !begin_next(*which)) return;
  const Case& test = *cases_.blamed().test;
  switch (cases_.add_line(line, Clock::now())) {
    case CaseTracker::Received::kNothing:
      return;
    case CaseTracker::Received::kStarted:
      return process_->restart_clock(limits_of(setup_, test.policy));
    case CaseTracker::Received::kReported:
      if (plan_.is_batch() || test.policy.shutdown)
        process_->restart_clock(limits_after_end(setup_, plan_, test));
      return;
    case CaseTracker::Received::kContradiction:
      return stop(SIGTERM, plan_.suite->policy.grace, std::nullopt);
  }
}

// Begins the next case of the process. Returns false if the process is ending, and then the case does not begin.
bool RunningAttempt::begin_next(std::size_t which) {
  if (cases_.is_ending()) return false;  // a limit or a stop: the open case is responsible for it
  const ProcessLimits limits = limits_of(setup_, cases_.of(which).test->policy);
  if (cases_.open() && by_.results) {
    const CaseTracker::Open open = cases_.set_aside(Clock::now());
    by_.results->add({open, observer_.take_telemetry(plan_, open, cases_.of(open.which).test->id, nullptr)});
  } else if (cases_.open()) {
    conclude(nullptr);
  }
  if (!cases_.may_begin()) {
    stop(SIGTERM, limits.grace, std::nullopt);
    return false;
  }
  cases_.listen_to(which);
  begin(which, Clock::now());
  process_->restart_clock(limits);
  return true;
}

void RunningAttempt::on_output(Stream stream, std::string_view bytes) {
  if (!setup_.ready && setup_.output) setup_.output->on_output(cases_.blamed().test->id, stream, bytes);
  if (by_.results && stream == Stream::kOut) by_.results->add_output(bytes);
  if (!readiness_ || cases_.is_ending() || !readiness_->scan(stream, bytes, Clock::now())) return;
  process_->restart_clock(limits_of(setup_, plan_.first().test->policy));
  const auto reported = readiness_->report(plan_.devices);
  if (!reported) events_.on(Warning{WarningCode::kReadyFile, "failed to " + reported.error().what});
}

// Passes the events of the result file to the open case. Returns why the file was not read, or "".
std::string RunningAttempt::read_result(const ProcessEnd& end) {
  const ResultText result = read_result_file(files_.result_file);
  if (result.text.empty()) return result.refused;
  by_.translator->on_line(end.output.stdout_tail);
  for (const auto& event : by_.translator->translate(result.text)) on_event(event);
  return result.refused;
}

// ---- Begin and end of cases ----

void RunningAttempt::begin(std::size_t which, Clock::time_point now) {
  cases_.begin(observer_.begin_case(observed_, plan_, which, now, cases_.none_began()));
  const AttemptCase& entry = cases_.of(which);
  report(entry, AttemptStarted{.case_id = entry.test->id,
                               .attempt = entry.attempt,
                               .repeat = entry.repeat,
                               .at_ms = events_.ms_at(now),
                               .devices = plan_.devices,
                               .log = files_.log,
                               .environment = by_.ranks ? std::vector<EnvironmentVariable>{}
                                                        : plan_.environment.visibility,
                               .shared = plan_.is_batch()});
}

void RunningAttempt::conclude(const ProcessEnd* end, const BatchResults::Ran* ran) {
  if (by_.ranks) cases_.replace_child(by_.ranks->merged());
  const std::string refused = end && by_.translator && !files_.result_file.empty() ? read_result(*end) : "";
  AttemptEnded event = describe_case(end, ran ? *ran->open.reported : Clock::now(), refused);
  const CaseTracker::Open open = *cases_.open();
  if (!ran || by_.results->count()) observer_.diagnose(observed_, plan_, open, end, event);
  event.telemetry = ran ? ran->telemetry : observer_.take_telemetry(plan_, open, event.case_id, end);
  for (const auto& text : cases_.child().warnings())
    report(cases_.blamed(), Warning{WarningCode::kCaseWarning, event.case_id + ": " + text});
  const bool is_unproven = by_.results ? unproven_.contains(open.which) : cases_.is_unproven();
  if (is_unproven) add_mark(event.marks, Mark::kUnconfirmed);
  cases_.close(event.verdict.outcome);
  snapshot_.keep(event.case_id, event.evidence);
  report(cases_.of(open.which), event);
  listener_.on_case_ended(open.which, event, end == nullptr);
}

// Reports the cases that ran before. The case in which the process ended stays open.
void RunningAttempt::report_results() {
  const auto last = cases_.open();
  const std::vector<BatchResults::Ran> ran_before = by_.results->take_ran();
  unproven_ = by_.results->unproven(ran_before, cases_);
  for (const BatchResults::Ran& ran : ran_before) {
    cases_.reopen(ran.open, by_.results->report_of(ran.open.which));
    conclude(nullptr, &ran);
  }
  if (last) cases_.reopen(*last, by_.results->report_of(last->which));
}

AttemptEnded RunningAttempt::describe_case(const ProcessEnd* end, Clock::time_point at,
                                           const std::string& result_refused) const {
  return describe({.run_files = run_files_,
                   .plan = plan_,
                   .files = files_,
                   .cases = cases_,
                   .ranks = by_.ranks.get(),
                   .readiness = readiness_ ? &*readiness_ : nullptr,
                   .evidence = snapshot_.found(),
                   .stop = stop_,
                   .result_refused = result_refused,
                   .end = end,
                   .at_ms = events_.ms_at(at)});
}

void RunningAttempt::report(const AttemptCase& entry, const Event& event) {
  if (!entry.silent) events_.on(event);
}

// ---- Evidence between a limit and its first signal ----

void RunningAttempt::on_limit(int guard_pid, std::function<void()> then) {
  cases_.process_is_ending();
  if (by_.ranks) by_.ranks->interrupt();
  if (setup_.own_program.empty()) return then();
  const Clock::time_point began = Clock::now();
  const auto& open = cases_.open();
  const KernelEvidence kernel = observer_.kernel_evidence(observed_, open);
  GatherRequest request;
  request.guard = guard_pid;
  request.devices = observer_.devices_and_load(plan_, open);
  request.kernel_lines = kernel.lines;
  request.kernel_gap = kernel.gap;
  snapshot_.at_limit(cases_.blamed(), began, std::move(request),
                     alive_.guard([this, then = std::move(then)](const std::string& problem) {
                       report_evidence(problem);
                       then();
                     }));
}

void RunningAttempt::report_evidence(const std::string& problem) {
  if (problem.empty() || stop_.reason()) return;  // a stopped case needs no such warning
  events_.on(Warning{WarningCode::kEvidence, "the evidence of " + cases_.blamed().test->id + " " + problem});
}

// ---- End of the process ----

void RunningAttempt::stop(int signal, Milliseconds grace, std::optional<Reason> reason) {
  stop_.give(signal, reason);
  if (snapshot_.crashed()) return snapshot_.stop();
  if (plan_.is_batch() && !by_.results && cases_.open() && cases_.open()->reported) conclude(nullptr);
  cases_.process_is_ending();
  if (by_.ranks) by_.ranks->interrupt();
  process_->stop(signal, std::min(grace, plan_.first().test->policy.grace));
}

void RunningAttempt::abandon() {
  alive_.end();
  if (!cases_.open()) return;
  ProcessEnd end;
  end.cause = EndCause::kStopped;
  end.termination = {.signal_sent = 9, .forced = true, .unkillable = true, .leaked_processes = {}};
  end.started = cases_.open()->started;
  end.leader_ended = end.ended = Clock::now();
  if (by_.ranks) cases_.replace_child(by_.ranks->merged());
  AttemptEnded event = describe_case(&end, Clock::now());
  event.telemetry = observer_.take_telemetry(plan_, *cases_.open(), event.case_id, &end);
  report(cases_.blamed(), event);
}

void RunningAttempt::on_process_end(const ProcessEnd& end) {
  const auto crash = crash_of(setup_, end, by_.ranks.get());
  if (!crash) return finish(end);
  snapshot_.after_crash(cases_.blamed(), plan_, files_, end, *crash,
                        alive_.guard([this, end](const std::string& problem) {
                          report_evidence(problem);
                          finish(end);
                        }));
}

void RunningAttempt::finish(const ProcessEnd& end) {
  for (const auto& warning : warnings_of(end, cases_, observer_.take_frozen())) events_.on(warning);
  if (const auto left = shared_memory_left(end, cases_.blamed().test->id)) events_.on(*left);
  if (readiness_ && !cases_.is_ending()) readiness_->streams_ended(Clock::now());
  if (by_.results) by_.results->process_ended(end, cases_, files_.result_file);
  const auto& open = cases_.open();
  auto fate = ProcessFate::kEnded;
  if (cases_.none_began() && end.cause != EndCause::kStopped) {
    fate = ProcessFate::kNeverBegan;
    begin(0, end.started);
  } else if (open && (!(end.cause == EndCause::kExited && end.exit_code && open->reported) ||
                      (by_.results && !by_.results->count()))) {
    fate = ProcessFate::kDiedInCase;
  }
  if (by_.results && by_.results->is_refused()) events_.on(by_.results->warning());
  if (by_.results) report_results();
  if (!by_.results && fate != ProcessFate::kNeverBegan)
    cases_.mark_unreliable(unexplained_end(end, plan_, cases_));
  if (!cases_.why_unreliable().empty()) events_.on(unreliable_process(plan_, cases_));
  if (is_unreliable()) fate = ProcessFate::kDiedInCase;
  if (const auto last = open) {
    conclude(&end);
    observer_.count_start(plan_, *last, cases_.child(), end);
  }
  run_files_.remove(plan_, files_, end.termination.unkillable);
  readiness_.reset();
  listener_.on_process_ended(fate);  // may destroy this object
}

}  // namespace proctor
