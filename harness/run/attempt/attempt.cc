#include "harness/run/attempt/attempt.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "harness/classify/culprit.h"
#include "harness/process/containment.h"
#include "harness/process/frozen_time.h"
#include "harness/run/attempt/attempt_spec.h"
#include "harness/run/attempt/ranks_of_case.h"
#include "harness/run/attempt/result_file.h"
#include "harness/run/attempt/shared_memory.h"
#include "harness/run/attempt/unexplained_end.h"

namespace proctor {
namespace {

// How long nothing of the runner ran, told once for each time, whatever ran meanwhile.
Milliseconds take_frozen(AttemptContext& context) {
  const auto total = context.containment.frozen();
  const auto since = std::chrono::duration_cast<Milliseconds>(total - context.frozen_told);
  if (since < FrozenTime::kNotable) return Milliseconds(0);
  context.frozen_told = total;
  return since;
}

// A device that is busy waits for itself, an idle one for the case.
std::vector<std::string> devices_and_load(const AttemptContext& context, const AttemptPlan& plan,
                                          const CaseTracker& cases) {
  std::vector<std::string> described = plan.devices;
  if (context.telemetry == nullptr || !cases.open()) return described;
  for (auto& device : described) {
    const auto busy = context.telemetry->utilisation(cases.open()->telemetry, device);
    if (busy) device += fmt::format(" ({:.0f} % busy)", *busy);
  }
  return described;
}

// How long the case itself ran, as far as anybody said so.
std::optional<Milliseconds> own_duration(const CaseTracker::Open& open, const ChildReport& child) {
  if (child.took()) return child.took();
  const Clock::time_point began{std::chrono::nanoseconds(child.start_ns())};  // by a clock that we share
  const auto start = child.start_ns() > 0 ? began : open.told;
  if (!start || !open.reported || *start > *open.reported) return std::nullopt;
  return Milliseconds(ms_between(*start, *open.reported));
}

void report(const AttemptContext& context, const AttemptCase& entry, const Event& event) {
  if (!entry.silent) context.sink.on(event);
}

// Of one that was told of to its end: how long the rest took.
void count_start(AttemptContext& context, const AttemptPlan& plan, const CaseTracker::Open& open,
                 const CaseTracker& cases, const ProcessEnd& end) {
  if (plan.is_batch() || end.cause != EndCause::kExited) return;
  if (const auto own = own_duration(open, cases.child()))
    context.start_costs.add(*plan.suite, Milliseconds(ms_between(end.started, end.leader_ended)), *own);
}

}  // namespace

RunningAttempt::RunningAttempt(AttemptContext& context, AttemptPlan plan, OnCaseEnded on_case_ended,
                               OnDone on_done)
    : context_(context),
      plan_(std::move(plan)),
      addresses_(context.diagnoser.devices_in(plan_.environment.variables)),
      process_position_(context.diagnoser.position()),
      on_{std::move(on_case_ended), std::move(on_done)},
      files_(make_files(context, plan_)),
      cases_(plan_, has_startup_clock(context.setup, plan_)),
      stop_(context.io),
      look_(context) {
  const Kind& kind = plan_.kind();
  const Voice voice = plan_.voice();
  if (voice == Voice::kStream || voice == Voice::kFile)
    translator_ = kind.translator(*plan_.suite, *plan_.first().test);
  if (voice == Voice::kConnection)
    told_ = std::make_unique<ToldCases>(
        context.io, plan_,
        ToldCases::Listener{.on_event = [this](std::string_view event) { on_event(event); },
                            .on_doubt = [this] { stop(SIGTERM, plan_.suite->policy.grace, std::nullopt); }});
  if (!plan_.ranks.empty())
    ranks_ = std::make_unique<RankReports>(kind.name_for_child(*plan_.first().test), kind, plan_.ranks.size(),
                                           plan_.suite->skip_code);
  if (!plan_.is_batch()) begin(0, Clock::now());
  process_ = ContainedProcess::start(
      context_.io, context_.containment, make_process(), alive_.guard([this](const ProcessEnd& end) {
        context_.cores.ended(end.containment_id);
        stop_.settle(end, alive_.guard([this](const ProcessEnd& settled) { on_process_end(settled); }));
      }));
  if (told_) told_->begin([this](std::uint64_t inode) { return process_->holds_socket(inode); });
}

RunningAttempt::~RunningAttempt() { alive_.end(); }

ProcessSpec RunningAttempt::make_process() {
  ProcessSpec spec = make_spec(context_, plan_, files_, told_ ? told_->address() : "");
  if (ranks_) make_rank_supervisor(context_, plan_, files_, spec);
  if (spec.events) spec.on_event_line = alive_.guard([this](std::string_view line) { on_line(line); });
  spec.on_limit = alive_.guard(
      [this](int guard_pid, std::function<void()> then) { on_limit(guard_pid, std::move(then)); });
  spec.on_stopped = alive_.guard([this] {
    if (context_.on_stopped) context_.on_stopped();
  });
  if (context_.setup.on_output || context_.setup.ready)
    spec.on_output =
        alive_.guard([this](Stream stream, std::string_view bytes) { on_output(stream, bytes); });
  if (!context_.setup.ready) return spec;
  // Until it is ready it has a limit of its own, and from then on the case's.
  readiness_.emplace(*context_.setup.ready, Clock::now());
  if (readiness_->timeout()) spec.limits.timeout = readiness_->timeout();
  return spec;
}

// ---- what the process says ----

void RunningAttempt::on_line(std::string_view line) {
  if (ranks_) return ranks_->add_line(line);
  if (!translator_) return on_event(line);
  for (const auto& event : translator_->translate(fmt::format("{}\n", line))) on_event(event);
}

void RunningAttempt::on_event(std::string_view line) {
  if (const auto which = cases_.begun_by(line)) {
    if (cases_.is_ending()) return;  // a limit or a stop: whoever had begun answers for it
    const ProcessLimits limits = limits_of(context_.setup, cases_.of(*which).test->policy);
    if (cases_.open()) conclude(nullptr);
    if (!cases_.may_begin()) return stop(SIGTERM, limits.grace, std::nullopt);
    cases_.listen_to(*which);
    begin(*which, Clock::now());
    process_->restart_clock(limits);
  }
  const Case& test = *cases_.blamed().test;
  switch (cases_.add_line(line, Clock::now())) {
    case CaseTracker::Heard::kNothing:
      return;
    case CaseTracker::Heard::kStarted:
      return process_->restart_clock(limits_of(context_.setup, test.policy));
    case CaseTracker::Heard::kReported:
      if (plan_.is_batch() || test.policy.shutdown)
        process_->restart_clock(limits_after_end(context_.setup, plan_, test));
      return;
    case CaseTracker::Heard::kContradiction:
      return stop(SIGTERM, plan_.suite->policy.grace, std::nullopt);
  }
}

void RunningAttempt::on_output(Stream stream, std::string_view bytes) {
  if (!context_.setup.ready) return context_.setup.on_output(cases_.blamed().test->id, stream, bytes);
  if (!readiness_ || cases_.is_ending() || !readiness_->scan(stream, bytes, Clock::now())) return;
  process_->restart_clock(limits_of(context_.setup, plan_.first().test->policy));
  const auto told = readiness_->tell(plan_.devices);
  if (!told) context_.sink.on(Warning{WarningCode::kReadyFile, "failed to " + told.error().what});
}

// Nothing in its result file is a result; what is in it goes with the verdict. Returns why it was not read, or "".
std::string RunningAttempt::read_result(const ProcessEnd& end) {
  const ResultText result = read_result_file(files_.result_file);
  if (result.text.empty()) return result.refused;
  translator_->hear(end.output.stdout_tail);
  for (const auto& event : translator_->translate(result.text)) on_event(event);
  return result.refused;
}

// ---- its cases ----

void RunningAttempt::begin(std::size_t which, Clock::time_point now) {
  // The start of the process belongs to its first case.
  const auto position = cases_.none_began() ? process_position_ : context_.diagnoser.position();
  cases_.begin({.which = which,
                .started = now,
                .kernel_position = position,
                .telemetry = context_.telemetry ? context_.telemetry->begin(plan_.devices) : 0});
  const AttemptCase& entry = cases_.of(which);
  report(context_, entry,
         AttemptStarted{
             .case_id = entry.test->id,
             .attempt = entry.attempt,
             .repeat = entry.repeat,
             .at_ms = ms_between(context_.run_started, now),
             .devices = plan_.devices,
             .log = files_.log,
             .environment = ranks_ ? std::vector<EnvironmentVariable>{} : plan_.environment.visibility,
             .shared = plan_.is_batch()});
}

void RunningAttempt::conclude(const ProcessEnd* end) {
  if (ranks_) cases_.replace_child(ranks_->merged());
  const std::string refused = end && translator_ && !files_.result_file.empty() ? read_result(*end) : "";
  AttemptEnded event = describe_case(end, refused);
  const CaseTracker::Open open = *cases_.open();
  context_.diagnoser.judge(open.kernel_position, addresses_, event, context_.sink,
                           end ? end->usage.oom_kills : 0);
  if (event.diagnosis)
    event.diagnosis->culprit = culprit_of(*event.diagnosis, {.run = context_.planned,
                                                             .suite = plan_.suite->name,
                                                             .kind = plan_.kind().name(),
                                                             .backend = to_string(plan_.suite->backend),
                                                             .devices = plan_.devices,
                                                             .properties = event.properties});
  context_.diagnoser.report_device_errors(open.kernel_position, addresses_, event);
  event.telemetry = take_telemetry(end);
  for (const auto& text : cases_.child().warnings())
    report(context_, cases_.blamed(), Warning{WarningCode::kCaseWarning, event.case_id + ": " + text});
  if (cases_.is_unproven() || (told_ && told_->is_unproven(open.which)))
    add_mark(event.marks, Mark::kUnproven);
  cases_.close(event.verdict.outcome);
  if (end == nullptr && told_ && told_->keeps(open.which, event)) return;
  tell_end(open.which, event, end == nullptr);
}

void RunningAttempt::tell_end(std::size_t which, const AttemptEnded& event, bool went_on) {
  context_.cores.keep(context_.setup.run_dir, event.case_id, event.evidence.core);
  report(context_, cases_.of(which), event);
  on_.case_ended(which, event, went_on);
}

AttemptEnded RunningAttempt::describe_case(const ProcessEnd* end, const std::string& result_refused) const {
  return describe({.context = context_,
                   .plan = plan_,
                   .files = files_,
                   .cases = cases_,
                   .ranks = ranks_.get(),
                   .readiness = readiness_ ? &*readiness_ : nullptr,
                   .evidence = look_.found(),
                   .stop = stop_,
                   .result_refused = result_refused,
                   .end = end});
}

TelemetryInfo RunningAttempt::take_telemetry(const ProcessEnd* end) {
  TelemetryInfo telemetry;
  telemetry.host = host_figures(end ? end->usage : HostUsage(), plan_.is_batch());
  if (context_.telemetry)
    telemetry.devices = context_.telemetry->end(cases_.open()->telemetry, cases_.blamed().test->id);
  return telemetry;
}

// ---- what is looked at between a limit and its first signal ----

void RunningAttempt::on_limit(int guard_pid, std::function<void()> then) {
  cases_.process_is_ending();
  if (ranks_) ranks_->interrupt();
  if (context_.setup.own_program.empty()) return then();
  const Clock::time_point began = Clock::now();
  const auto& open = cases_.open();
  const KernelEvidence kernel =
      context_.diagnoser.evidence(open ? open->kernel_position : process_position_, addresses_);
  GatherRequest request;
  request.guard = guard_pid;
  request.devices = devices_and_load(context_, plan_, cases_);
  request.kernel_lines = kernel.lines;
  request.kernel_gap = kernel.gap;
  look_.at_limit(cases_.blamed(), began, std::move(request),
                 alive_.guard([this, then = std::move(then)](const std::string& problem) {
                   tell_evidence(problem);
                   then();
                 }));
}

void RunningAttempt::tell_evidence(const std::string& problem) {
  if (problem.empty() || stop_.reason()) return;  // who stopped it knows why
  context_.sink.on(
      Warning{WarningCode::kEvidence, "the evidence of " + cases_.blamed().test->id + " " + problem});
}

// ---- the end ----

void RunningAttempt::stop(int signal, Milliseconds grace, std::optional<Reason> reason) {
  stop_.give(signal, reason);
  if (look_.crashed()) return look_.stop();
  if (plan_.is_batch() && cases_.open() && cases_.open()->reported) conclude(nullptr);
  cases_.process_is_ending();
  if (ranks_) ranks_->interrupt();
  process_->stop(signal, std::min(grace, plan_.first().test->policy.grace));
}

void RunningAttempt::abandon() {
  alive_.end();
  if (told_)
    told_->abandon(cases_, [this](std::size_t which, const auto& event) { tell_end(which, event, true); });
  if (!cases_.open()) return;
  ProcessEnd end;
  end.cause = EndCause::kStopped;
  end.termination = {.signal_sent = 9, .forced = true, .unreapable = true, .strays = {}};
  end.started = cases_.open()->started;
  end.leader_ended = end.ended = Clock::now();
  if (ranks_) cases_.replace_child(ranks_->merged());
  AttemptEnded event = describe_case(&end);
  event.telemetry = take_telemetry(&end);
  report(context_, cases_.blamed(), event);
}

void RunningAttempt::on_process_end(const ProcessEnd& end) {
  if (told_) told_->process_ended(end, cases_, files_.result_file);
  const auto crash = crash_of(context_.setup, end, ranks_.get());
  if (!crash) return finish(end);
  look_.after_crash(cases_.blamed(), plan_, files_, end, *crash,
                    alive_.guard([this, end](const std::string& problem) {
                      tell_evidence(problem);
                      finish(end);
                    }));
}

void RunningAttempt::settle_told(const ProcessEnd& end) {
  told_->settle(end, cases_, [this](std::size_t which, const auto& event) { tell_end(which, event, true); });
  if (const ChildReport* child = told_->last_case(cases_)) cases_.replace_child(*child);
  for (const Warning& warning : told_->warnings()) context_.sink.on(warning);
  if (told_->is_doubted()) context_.one_by_one.insert(plan_.suite);
}

void RunningAttempt::finish(const ProcessEnd& end) {
  for (const auto& warning : warnings_of(end, cases_, take_frozen(context_))) context_.sink.on(warning);
  if (const auto left = shared_memory_left(end, cases_.blamed().test->id)) context_.sink.on(*left);
  if (readiness_ && !cases_.is_ending()) readiness_->streams_ended(Clock::now());
  const auto& open = cases_.open();
  auto fate = ProcessFate::kEnded;
  if (cases_.none_began() && end.cause != EndCause::kStopped) {
    fate = ProcessFate::kNeverBegan;
    begin(0, end.started);
  } else if (open && !(end.cause == EndCause::kExited && end.exit_code && open->reported)) {
    fate = ProcessFate::kDiedInCase;
  }
  if (told_) settle_told(end);
  if (!told_ && fate != ProcessFate::kNeverBegan) cases_.mark_unreliable(unexplained_end(end, plan_, cases_));
  if (!cases_.why_unreliable().empty()) context_.sink.on(unreliable_process(plan_, cases_));
  if (is_unreliable()) fate = ProcessFate::kDiedInCase;
  if (const auto last = open) {
    conclude(&end);
    count_start(context_, plan_, *last, cases_, end);
  }
  remove_files(context_, plan_, files_, end.termination.unreapable);
  readiness_.reset();
  const auto done = std::move(on_.done);
  done(fate);  // may destroy this
}

}  // namespace proctor
