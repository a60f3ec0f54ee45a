#include "harness/run/attempt/attempt.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "harness/classify/culprit.h"
#include "harness/core/child_protocol.h"
#include "harness/core/environment_list.h"
#include "harness/core/log_marks.h"
#include "harness/core/regular_file.h"
#include "harness/evidence/core_file.h"
#include "harness/evidence/core_pattern.h"
#include "harness/evidence/gatherer.h"
#include "harness/process/contained_process.h"
#include "harness/process/containment.h"
#include "harness/process/frozen_time.h"
#include "harness/ranks/rank_plan.h"
#include "harness/run/attempt/result_file.h"
#include "harness/run/attempt/verdict.h"
#include "harness/run/attempt/waits.h"

namespace proctor {
namespace {

constexpr int kStrictUmask = 022;   // kind proctor: the same on every machine
constexpr double kSlowShare = 0.5;  // of the time limit
constexpr std::uint64_t kGib = 1024 * 1024 * 1024;
constexpr std::uint64_t kMostCore = kGib;       // that is kept of one attempt,
constexpr std::uint64_t kMostCores = 4 * kGib;  // and of a run

std::int64_t ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<Milliseconds>(to - from).count();
}

std::int64_t unix_seconds(Clock::time_point time) {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch() - (Clock::now() - time);
  return std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count();
}

// The child starts in its scratch directory, so a relative program is found from the suite's.
std::string anchored(const std::string& program, const std::string& directory) {
  if (program.find('/') == std::string::npos || program.front() == '/' || directory.empty()) return program;
  return (std::filesystem::path(directory) / program).string();
}

// ---- where the files of an attempt lie in the run directory ----

std::string stem_of(const LogNames& names, const AttemptCase& entry) {
  std::string stem = names.stem(entry.test->id) + "." + std::to_string(entry.attempt);
  if (entry.repeat > 1) stem += ".r" + std::to_string(entry.repeat);
  return stem;
}

std::string log_of(const LogNames& names, const AttemptCase& entry) {
  return "logs/" + stem_of(names, entry) + ".log";
}

std::string log_of(const LogNames& names, const AttemptCase& entry, int rank) {
  return "logs/" + stem_of(names, entry) + ".rank" + std::to_string(rank) + ".log";
}

std::string evidence_of(const LogNames& names, const AttemptCase& entry, const char* ending = ".txt") {
  return "evidence/" + stem_of(names, entry) + ending;
}

}  // namespace

RunningAttempt::RunningAttempt(AttemptContext& context, AttemptPlan plan, OnCaseEnded on_case_ended,
                               OnDone on_done)
    : context_(context),
      plan_(std::move(plan)),
      addresses_(context.diagnoser.devices_in(plan_.environment.variables)),
      process_mark_(context.diagnoser.mark()),
      on_case_ended_(std::move(on_case_ended)),
      on_done_(std::move(on_done)),
      begun_(plan_.cases.size()) {
  const AttemptCase& first = plan_.cases.front();
  if (!context_.setup.inherit_stdio) log_ = log_of(context_.names, first);
  child_ = ChildReport(kind().name_for_child(*first.test));
  take_scratch();
  if (!plan_.ranks.empty()) ranks_.emplace(kind().name_for_child(*first.test), kind(), plan_.ranks.size());
  if (!is_batch()) begin(0, Clock::now());
  process_ = ContainedProcess::start(context_.io, context_.containment, make_spec(),
                                     [this, alive = alive_](const ProcessEnd& end) {
                                       if (*alive) on_process_end(end);
                                     });
}

RunningAttempt::~RunningAttempt() {
  *alive_ = false;
  if (gathering_) gathering_->stop(SIGKILL, Milliseconds(0));
}

// Foreign kinds keep their own TMPDIR and working directory; some need a place for their result, or one for
// their cases where several share a process.
void RunningAttempt::take_scratch() {
  const Voice voice = kind().voice(*plan_.suite);
  if (voice == Voice::kStream || voice == Voice::kFile) translator_ = kind().translator(*plan_.suite);
  if (voice == Voice::kFile) result_file_ = context_.scratch.new_file_name();
  if (!plan_.cases.front().test->group.empty()) write_cases();
  if (!kind().ours()) return;
  if (auto directory = context_.scratch.lease_directory(); directory) {
    scratch_ = std::move(*directory);
  } else {
    context_.sink.on(Warning{"scratch", "failed to " + directory.error().what + "; " +
                                            plan_.cases.front().test->id +
                                            " runs without a directory of its own"});
  }
}

std::vector<const Case*> RunningAttempt::tests() const {
  std::vector<const Case*> tests;
  for (const auto& entry : plan_.cases) tests.push_back(entry.test);
  return tests;
}

void RunningAttempt::write_cases() {
  cases_file_ = context_.scratch.new_file_name();
  if (auto written = write_new_file(cases_file_, kind().batch_file(tests())); !written)
    context_.sink.on(Warning{"scratch", "failed to " + written.error().what});
}

ProcessSpec RunningAttempt::make_spec() {
  const AttemptCase& first = plan_.cases.front();
  const Voice voice = kind().voice(*plan_.suite);
  ProcessSpec spec;
  spec.argv = cases_file_.empty() ? first.test->argv : kind().batch_command(tests(), cases_file_);
  spec.env = std::move(plan_.environment.variables);
  spec.directory = plan_.suite->directory;
  if (plan_.suite->host_pids) spec.reach = Reach::kHostPids;
  if (voice == Voice::kFile) spec.argv = with(std::move(spec.argv), kind().output_options(result_file_));
  if (voice == Voice::kStream) spec.argv = with(std::move(spec.argv), kind().output_options(kEventsFile));
  if (kind().ours()) {
    spec.umask = kStrictUmask;
    if (!scratch_.empty()) {
      if (!spec.argv.empty()) spec.argv[0] = anchored(spec.argv[0], spec.directory);
      spec.directory = scratch_;
    }
  }
  if (voice == Voice::kEvents || voice == Voice::kStream) {
    spec.events = true;
    spec.on_event_line = [this, alive = alive_](std::string_view line) {
      if (*alive) on_line(line);
    };
  }
  add_variables(spec.env);
  directory_ = spec.directory;

  if (!log_.empty() || ranks_) {  // a log that cannot be written is marked as lost
    static_cast<void>(make_way(context_.setup.run_dir, log_of(context_.names, first)));
  }
  if (!log_.empty()) spec.log_path = context_.setup.run_dir + "/" + log_;
  if (voice == Voice::kEvents && !log_.empty()) keep_captured(spec);
  spec.inherit_stdio = context_.setup.inherit_stdio;
  spec.leases = plan_.leases;
  spec.pass_through = context_.setup.pass_through;
  spec.break_commands = context_.setup.break_commands;
  spec.on_limit = [this, alive = alive_](int guard_pid, std::function<void()> then) {
    if (!*alive) return;
    ending_ = true;
    if (ranks_) ranks_->interrupt();
    if (context_.setup.own_program.empty()) return then();
    gather(guard_pid, std::move(then));
  };
  spec.on_stopped = [this, alive = alive_] {
    if (*alive && context_.on_stopped) context_.on_stopped();
  };
  spec.limits = limits_of(first.test->policy);
  spec.argv.insert(spec.argv.begin(), context_.setup.debugger.begin(), context_.setup.debugger.end());
  if (context_.setup.debugger.empty() && tells_begin_and_end(voice) && first.test->policy.startup) {
    spec.limits.timeout = first.test->policy.startup;
    starting_ = true;
  }
  if (ranks_) make_rank_supervisor(spec);
  if (context_.setup.on_output) {
    spec.on_output = [this, alive = alive_](Stream stream, std::string_view bytes) {
      if (*alive) context_.setup.on_output(blamed().test->id, stream, bytes);
    };
  }
  if (context_.setup.ready) watch_readiness(spec);
  return spec;
}

// In the run directory, which also has them if the runner is killed.
void RunningAttempt::keep_captured(ProcessSpec& spec) const {
  const std::string file = spec.log_path + ".captured";
  const std::vector<std::string> options = kind().output_options(file);
  if (options.empty()) return;
  spec.argv = with(std::move(spec.argv), options);
  for (const std::string_view ending : kCapturedEndings)
    spec.captured_in.emplace_back(ending == ".err" ? Stream::kErr : Stream::kOut,
                                  fmt::format("{}{}", file, ending));
}

void RunningAttempt::add_variables(std::vector<std::string>& environment) const {
  const AttemptCase& first = plan_.cases.front();
  if (!scratch_.empty()) set_variable(environment, "TMPDIR", scratch_);
  if (!is_batch()) set_variable(environment, child::kCaseVariable, first.test->id);
  set_variable(environment, child::kAttemptVariable, std::to_string(first.attempt));
  set_variable(environment, child::kRunDirVariable, context_.setup.run_dir);
  set_variable(environment, child::kRunIdVariable, context_.planned.run_id);
}

// Until it is ready it has a limit of its own, and from then on the case's.
void RunningAttempt::watch_readiness(ProcessSpec& spec) {
  readiness_.emplace(*context_.setup.ready, Clock::now());
  if (readiness_->timeout()) spec.limits.timeout = readiness_->timeout();
  spec.on_output = [this, alive = alive_](Stream stream, std::string_view bytes) {
    if (!*alive || ending_ || !readiness_->scan(stream, bytes, Clock::now())) return;
    process_->restart_clock(limits_of(plan_.cases.front().test->policy));
    const auto told = readiness_->tell(plan_.devices);
    if (!told) context_.sink.on(Warning{"ready_file", "failed to " + told.error().what});
  };
}

ProcessLimits RunningAttempt::limits_of(const CasePolicy& policy) const {
  ProcessLimits limits;
  limits.grace = policy.grace;
  if (!context_.setup.debugger.empty()) return limits;
  if (policy.timeout.count() > 0) limits.timeout = policy.timeout;
  if (!context_.setup.inherit_stdio) limits.stall = policy.stall;  // its output cannot be seen
  return limits;
}

// ---- a case with ranks: its process is their supervisor (harness/ranks/) ----

std::vector<std::string> RunningAttempt::devices_of_rank(std::size_t rank) const {
  const std::size_t each = plan_.devices.size() / plan_.ranks.size();
  const auto first = plan_.devices.begin() + static_cast<std::ptrdiff_t>(rank * each);
  return {first, first + static_cast<std::ptrdiff_t>(each)};
}

// Turns the process of the case into the supervisor of as many.
void RunningAttempt::make_rank_supervisor(ProcessSpec& spec) {
  const AttemptCase& first = plan_.cases.front();
  RankPlan plan;
  plan.argv = std::move(spec.argv);
  plan.events = spec.events;
  plan.grace = first.test->policy.grace;
  auto rendezvous = context_.scratch.new_directory();
  if (rendezvous) plan.rendezvous = rendezvous_ = *rendezvous;
  for (std::size_t rank = 0; rank < plan_.ranks.size(); ++rank) {
    add_variables(plan_.ranks[rank].variables);
    const auto log = log_of(context_.names, first, static_cast<int>(rank));
    plan.ranks.push_back({.env = plan_.ranks[rank].variables, .log = context_.setup.run_dir + "/" + log});
  }
  rank_plan_ = context_.scratch.new_file_name();
  const auto written = rendezvous ? write_rank_plan(plan, rank_plan_) : Result<void>(rendezvous.error());
  if (!written)  // the supervisor says what it cannot read
    context_.sink.on(
        Warning{"scratch", "ranks of " + first.test->id + ": failed to " + written.error().what});
  spec.argv = supervisor_command(context_.setup.own_program, rank_plan_);
  spec.events = true;
  spec.on_event_line = [this, alive = alive_](std::string_view line) {
    if (*alive) ranks_->add_line(line);
  };
}

void RunningAttempt::tell_ranks(const ProcessEnd* end, AttemptEnded& event) const {
  const AttemptCase& first = plan_.cases.front();
  event.ranks = ranks_->ends();
  for (RankEnd& rank : event.ranks) {
    rank.devices = devices_of_rank(static_cast<std::size_t>(rank.rank));
    rank.log = log_that_is_there(log_of(context_.names, first, rank.rank), is_bad(event.verdict.outcome));
    rank.environment = plan_.ranks[static_cast<std::size_t>(rank.rank)].visibility;
  }
  const bool by_limit =
      end != nullptr && (end->cause == EndCause::kTimeout || end->cause == EndCause::kStall);
  const auto words = ranks_->words_of_answer();
  Failure failure;
  if (words || (end != nullptr && end->cause == EndCause::kExited)) failure.message = ranks_->who_answers();
  if (by_limit) failure.message += (failure.message.empty() ? "" : "; ") + ranks_->who_is_left();
  if (!failure.message.empty()) event.failures.push_back(std::move(failure));
  if (!words || !is_bad(event.verdict.outcome)) return;
  event.output.stdout_tail = words->out;  // and not what the others wrote since
  event.output.stderr_tail = words->err;
}

void RunningAttempt::clean_rendezvous() {
  if (auto removed = context_.scratch.remove(rendezvous_); !removed)
    context_.sink.on(Warning{"scratch_left", "failed to " + removed.error().what});
}

// ---- its cases ----

void RunningAttempt::on_line(std::string_view line) {
  if (!translator_) return on_event(line);
  for (const auto& event : translator_->translate(fmt::format("{}\n", line))) on_event(event);
}

void RunningAttempt::on_event(std::string_view line) {
  if (is_batch()) {
    const auto name = ChildReport::started_case(line);
    const auto which = name ? find_not_begun(*name) : std::nullopt;
    if (which) {
      if (ending_) return;  // a limit or a stop: whoever had begun answers for it
      if (open_) conclude(nullptr);
      if (no_more_) return stop(SIGTERM, limits_of(of(*which).test->policy).grace, std::nullopt);
      child_ = ChildReport(*name);
      begin(*which, Clock::now());
      starting_ = false;
      process_->restart_clock(limits_of(of(*which).test->policy));
    }
  }
  child_.add_line(line);
  if (starting_ && !is_batch() && !ending_ && ChildReport::started_case(line)) {
    starting_ = false;
    process_->restart_clock(limits_of(blamed().test->policy));
  }
  // What a framework says of a case while it is being ended, because of our signal, is not its end.
  if (!open_ || open_->reported || !child_.result() || ending_) return;
  open_->reported = Clock::now();
  // Until the next one begins, or the process ends.
  ProcessLimits rest = limits_of(plan_.suite->policy);
  const auto& shutdown = of(open_->which).test->policy.shutdown;
  if (shutdown && context_.setup.debugger.empty()) rest.timeout = shutdown;
  if (is_batch() || shutdown) process_->restart_clock(rest);
}

std::optional<std::size_t> RunningAttempt::find_not_begun(const std::string& name) const {
  for (std::size_t which = 0; which < plan_.cases.size(); ++which) {
    if (!begun_[which] && kind().name_for_child(*of(which).test) == name) return which;
  }
  return std::nullopt;
}

std::vector<std::size_t> RunningAttempt::not_begun() const {
  std::vector<std::size_t> rest;
  for (std::size_t which = 0; which < begun_.size(); ++which) {
    if (!begun_[which]) rest.push_back(which);
  }
  return rest;
}

void RunningAttempt::begin(std::size_t which, Clock::time_point now) {
  const AttemptCase& entry = of(which);
  // The start of the process belongs to its first case.
  const bool first = std::find(begun_.begin(), begun_.end(), true) == begun_.end();
  begun_[which] = true;
  open_ = Open{.which = which,
               .started = now,
               .reported = {},
               .kernel_mark = first ? process_mark_ : context_.diagnoser.mark(),
               .telemetry = 0};
  if (context_.telemetry) open_->telemetry = context_.telemetry->begin(plan_.devices);
  context_.sink.on(AttemptStarted{
      .case_id = entry.test->id,
      .attempt = entry.attempt,
      .repeat = entry.repeat,
      .at_ms = ms_between(context_.run_started, now),
      .devices = plan_.devices,
      .log = log_,
      .environment = ranks_ ? std::vector<EnvironmentVariable>{} : plan_.environment.visibility});
}

// Nothing in it is a result; what is in it goes with the verdict.
void RunningAttempt::read_result_file(const ProcessEnd& end) {
  const ResultText result = proctor::read_result_file(result_file_);
  result_refused_ = result.refused;
  if (result.text.empty()) return;
  translator_->hear(end.output.stdout_tail);
  for (const auto& event : translator_->translate(result.text)) on_event(event);
}

void RunningAttempt::conclude(const ProcessEnd* end) {
  if (ranks_) child_ = ranks_->merged();
  if (end != nullptr && !result_file_.empty()) read_result_file(*end);
  AttemptEnded event = describe(end);
  context_.diagnoser.judge(open_->kernel_mark, addresses_, event, context_.sink,
                           end ? end->usage.oom_kills : 0);
  if (event.diagnosis)
    event.diagnosis->culprit = culprit_of(*event.diagnosis, {.run = context_.planned,
                                                             .suite = plan_.suite->name,
                                                             .kind = kind().name(),
                                                             .backend = to_string(plan_.suite->backend),
                                                             .devices = plan_.devices,
                                                             .properties = event.properties});
  event.telemetry = take_telemetry(end);
  const std::size_t which = open_->which;
  for (const auto& text : child_.warnings())
    context_.sink.on(Warning{"case_warning", of(which).test->id + ": " + text});
  open_.reset();
  const Outcome outcome = event.verdict.outcome;
  another_was_bad_ = another_was_bad_ || outcome == Outcome::kFail || outcome == Outcome::kError;
  context_.sink.on(event);
  on_case_ended_(which, event, end == nullptr);
}

TelemetryInfo RunningAttempt::take_telemetry(const ProcessEnd* end) {
  TelemetryInfo telemetry;
  telemetry.host = host_figures(end ? end->usage : HostUsage(), is_batch());
  if (context_.telemetry)
    telemetry.devices = context_.telemetry->end(open_->telemetry, of(open_->which).test->id);
  return telemetry;
}

// Reports name the log of what is bad, and the one that cases share, so it is there: if nothing was printed, it says so.
// "": there is none.
std::string RunningAttempt::log_that_is_there(const std::string& log, bool is_needed) const {
  const std::string path = context_.setup.run_dir + "/" + log;
  struct stat info {};
  if (log.empty() || ::lstat(path.c_str(), &info) == 0) return log;
  const bool is_made = is_needed && write_new_file(path, fmt::format("{}\n", kNoOutputMark)).ok();
  return is_made ? log : "";
}

AttemptEnded RunningAttempt::describe(const ProcessEnd* end) const {
  const AttemptCase& entry = of(open_->which);
  AttemptEnded event;
  event.case_id = entry.test->id;
  event.attempt = entry.attempt;
  event.repeat = entry.repeat;
  event.at_ms = ms_between(context_.run_started, Clock::now());
  event.last_step = child_.last_step();
  event.failures = child_.failures();
  event.measures = child_.measures();
  event.properties = child_.properties();
  if (readiness_ && readiness_->is_ready()) event.measures.push_back(*readiness_->measure());
  event.rule = child_.rule();
  event.source = child_.source();
  event.severity = child_.severity();
  event.verdict = judge_case(end);
  if (hung_after_its_end(end)) {
    Failure failure;
    failure.message = fmt::format(
        "the case itself had ended; its process had not, {} later",
        format_duration(end->cause == EndCause::kStall
                            ? plan_.suite->policy.stall.value_or(Milliseconds(0))
                            : of(open_->which).test->policy.shutdown.value_or(plan_.suite->policy.timeout)));
    event.failures.push_back(std::move(failure));
  }
  if (end) {
    describe_process(*end, event);
  } else {
    event.duration_ms = ms_between(open_->started, open_->reported.value_or(Clock::now()));
  }
  event.output.log = log_that_is_there(log_, is_batch() || is_bad(event.verdict.outcome));
  // Its own output, and not that of all cases, where the framework told them apart. One with words of its own may
  // have kept the output from the log.
  const bool kept = is_batch() || kind().voice(*plan_.suite) == Voice::kStream;
  if (kept && !child_.output().empty() && event.verdict.outcome == Outcome::kFail) {
    event.output.stdout_tail = child_.output();
    event.output.stderr_tail.clear();
  }
  if (!is_bad(event.verdict.outcome)) {  // nobody asks: the log has it, and a journal of passes stays small
    event.output.stdout_tail.clear();
    event.output.stderr_tail.clear();
  }
  if (!child_.also_ran().empty()) {
    Failure failure;
    const bool again = child_.also_ran() == kind().name_for_child(*entry.test);
    failure.message = again ? "the program ran the case more than once"
                            : "the program was asked for this case, and also ran " + child_.also_ran();
    event.failures.push_back(std::move(failure));
  }
  if (!result_refused_.empty()) {
    Failure failure;
    failure.message = result_refused_;
    event.failures.push_back(std::move(failure));
  }
  if (child_.violations() > 0) {
    Failure failure;
    failure.message = "wrote " + std::to_string(child_.violations()) + " lines to " +
                      child::kEventsFdVariable +
                      " that are not its events; the first: " + child_.first_violation();
    event.failures.push_back(std::move(failure));
  }
  if (!child_.warnings().empty()) event.marks.push_back("warn");
  const auto limit = static_cast<double>(entry.test->policy.timeout.count());
  const bool slow = limit > 0 && static_cast<double>(event.duration_ms) > kSlowShare * limit;
  if (slow && (!end || end->cause == EndCause::kExited)) event.marks.push_back("slow");
  if (ranks_) tell_ranks(end, event);
  for (std::string& text : end ? waits_at_limit(end->at_limit) : std::vector<std::string>()) {
    Failure failure;
    failure.message = std::move(text);
    event.failures.push_back(std::move(failure));
  }
  return event;
}

// Not its own doing, but what its framework does between its cases and after the last one.
bool RunningAttempt::hung_after_its_end(const ProcessEnd* end) const {
  if (end == nullptr || (end->cause != EndCause::kTimeout && end->cause != EndCause::kStall)) return false;
  return (is_batch() || of(open_->which).test->policy.shutdown) && open_->reported.has_value();
}

Verdict RunningAttempt::judge_case(const ProcessEnd* end) const {
  AttemptEvidence evidence{.kind = plan_.suite->kind,
                           .stop_reason = stop_reason_.value_or(Reason::kInterrupted),
                           .child = child_,
                           .went_on = end == nullptr,
                           .another_was_bad = another_was_bad_,
                           .after_end = hung_after_its_end(end),
                           .starting = starting_,
                           .starved = end != nullptr && end->at_limit.is_starved(),
                           .not_ready = readiness_ && !readiness_->is_ready(),
                           .told_to_end = readiness_ && readiness_->is_ready() ? stop_signal_ : 0};
  if (end) {
    evidence.cause = end->cause;
    evidence.spawn_error = end->spawn_error;
    evidence.exit_code = end->exit_code;
    evidence.exit_signal = end->exit_signal;
    evidence.forbidden_leak = is_leaky(*end) && of(open_->which).test->policy.leaks_fail;
  }
  return ranks_ ? ranks_->judge(evidence) : judge(evidence);
}

void RunningAttempt::describe_process(const ProcessEnd& end, AttemptEnded& event) const {
  event.exit_code = end.exit_code;
  event.exit_signal = end.exit_signal;
  event.termination = end.termination;
  event.termination.kill_to_empty_ms = end.kill_to_empty.count();
  event.evidence = evidence_;
  event.output = end.output;
  if (end.spawn_error) {
    Failure failure;
    failure.message = "failed to " + end.spawn_error->step + " " + of(open_->which).test->argv.front() +
                      ": " + std::strerror(end.spawn_error->err);
    event.failures.push_back(std::move(failure));
  } else {
    const bool shared = is_batch();
    event.duration_ms = ms_between(shared ? open_->started : end.started,
                                   shared ? open_->reported.value_or(end.leader_ended) : end.leader_ended);
  }
  if (is_leaky(end)) {
    event.marks.push_back("leaky");
    event.termination.left_by = left_by();
  }
  if (!end.termination.guard_lost.empty()) event.marks.push_back("guard_lost");
}

bool RunningAttempt::is_leaky(const ProcessEnd& end) const {
  return end.cause == EndCause::kExited && !end.termination.strays.empty();
}

std::vector<std::string> RunningAttempt::left_by() const {
  std::vector<std::string> cases;
  for (std::size_t which = 0; which < begun_.size() && is_batch(); ++which) {
    if (begun_[which]) cases.push_back(of(which).test->id);
  }
  return cases.size() > 1 ? cases : std::vector<std::string>();
}

// ---- what is looked at between a limit and its first signal ----

// A device that is busy waits for itself, an idle one for the case.
std::vector<std::string> RunningAttempt::devices_and_load() const {
  std::vector<std::string> described = plan_.devices;
  if (context_.telemetry == nullptr || !open_) return described;
  for (auto& device : described) {
    const auto busy = context_.telemetry->utilisation(open_->telemetry, device);
    if (busy) device += fmt::format(" ({:.0f} % busy)", *busy);
  }
  return described;
}

void RunningAttempt::gather(int guard_pid, std::function<void()> then) {
  const Clock::time_point begin = Clock::now();
  const AttemptCase& entry = blamed();
  const KernelEvidence kernel =
      context_.diagnoser.evidence(open_ ? open_->kernel_mark : process_mark_, addresses_);
  evidence_.file = evidence_of(context_.names, entry);
  static_cast<void>(
      make_way(context_.setup.run_dir, evidence_.file));  // who gathers says what cannot be written
  const GatherRequest request{.program = context_.setup.own_program,
                              .guard = guard_pid,
                              .devices = devices_and_load(),
                              .file = context_.setup.run_dir + "/" + evidence_.file,
                              .kernel_lines = kernel.lines,
                              .kernel_gap = kernel.gap,
                              .environment = context_.setup.evidence_environment};
  gathering_ = gather_evidence(context_.io, context_.containment, request,
                               [this, alive = alive_, begin, then = std::move(then)](Gathered gathered) {
                                 if (!*alive) return;
                                 take_gathered(std::move(gathered), begin);
                                 then();
                               });
}

void RunningAttempt::take_gathered(Gathered gathered, Clock::time_point begin) {
  evidence_.lines = std::move(gathered.lines);
  evidence_.duration_ms = ms_between(begin, Clock::now());
  std::error_code unreadable;  // as one that is not there
  if (!std::filesystem::exists(context_.setup.run_dir + "/" + evidence_.file, unreadable))
    evidence_.file.clear();
  gathering_.reset();
  if (!gathered.problem.empty() && !stop_reason_)  // else who stopped it knows why
    context_.sink.on(Warning{"evidence", "the evidence of " + blamed().test->id + " " + gathered.problem});
}

// ---- what is looked at after a crash ----

// The leader, or the rank that answers for the case: their leader is our supervisor.
std::optional<CrashedProcessEnd> RunningAttempt::crash_of(const ProcessEnd& end) const {
  if (end.cause != EndCause::kExited || context_.setup.own_program.empty() ||
      !context_.setup.debugger.empty())
    return std::nullopt;
  std::optional<CrashedProcessEnd> crash;
  if (ranks_) {
    crash = ranks_->crash_of_answer();
  } else if (end.exit_signal) {
    crash = {end.leader, *end.exit_signal, end.core_dumped};
  }
  return crash && leaves_a_core(crash->signal) ? crash : std::nullopt;
}

void RunningAttempt::look_at_core(const ProcessEnd& end, const CrashedProcessEnd& crash) {
  const bool same_pids = plan_.suite->host_pids || !has_pid_namespace(context_.containment.layer());
  const CrashedProcess process{.pid = crash.pid,
                               .host_pid = same_pids && have_pids_of_the_host() ? crash.pid : 0,
                               .program = blamed().test->argv.empty() ? "" : blamed().test->argv.front()};
  const CorePattern pattern = read_core_pattern();
  if (!crash.core_dumped || pattern.is_taken()) {
    evidence_.lines = {where_the_core_is(pattern, read_core_limit(), process, crash.core_dumped)};
    return finish(end);
  }
  const Clock::time_point begin = Clock::now();
  const std::string directory = std::filesystem::absolute(directory_.empty() ? "." : directory_).string();
  const std::string kept = evidence_of(context_.names, blamed(), ".core");
  evidence_.file = evidence_of(context_.names, blamed());
  static_cast<void>(make_way(context_.setup.run_dir, evidence_.file));
  // Others that crash meanwhile have some, too.
  const std::uint64_t room =
      std::min(kMostCore, (kMostCores - std::min(kMostCores, context_.core_bytes)) / 2);
  context_.core_bytes += room;
  const CrashGatherRequest request{.program = context_.setup.own_program,
                                   // The file system's clock is coarser.
                                   .owner = {.pid = crash.pid,
                                             .is_alone = same_pids,
                                             .mark = end.mark,
                                             .since = unix_seconds(end.started) - 1},
                                   .core_glob = core_glob(pattern, process, directory),
                                   .file = context_.setup.run_dir + "/" + evidence_.file,
                                   .core = context_.setup.run_dir + "/" + kept,
                                   .scratch = scratch_,
                                   .room = room,
                                   .environment = context_.setup.evidence_environment};
  gathering_ =
      gather_evidence(context_.io, context_.containment, request,
                      [this, alive = alive_, begin, end, kept, room](Gathered gathered) {
                        if (!*alive) return;
                        const std::string core = context_.setup.run_dir + "/" + kept;
                        ::unlink(core_draft(core).c_str());  // of one that was killed
                        const std::uint64_t bytes = bytes_on_disk(core);
                        if (bytes > 0)
                          evidence_.core = {.file = kept, .program = gathered.core_program, .bytes = bytes};
                        context_.core_bytes = context_.core_bytes - room + bytes;
                        take_gathered(std::move(gathered), begin);
                        finish(end);
                      });
}

// ---- the end ----

void RunningAttempt::stop(int signal, Milliseconds grace, std::optional<Reason> reason) {
  if (!stop_reason_) {
    stop_reason_ = reason;
    if (reason == Reason::kInterrupted) stop_signal_ = signal;
  }
  if (crashed_) return gathering_ ? gathering_->stop(SIGKILL, Milliseconds(0)) : void();
  if (is_batch() && open_ && open_->reported) conclude(nullptr);
  ending_ = true;
  if (ranks_) ranks_->interrupt();
  process_->stop(signal, std::min(grace, plan_.cases.front().test->policy.grace));
}

void RunningAttempt::abandon() {
  *alive_ = false;
  if (!open_) return;
  ProcessEnd end;
  end.cause = EndCause::kStopped;
  end.termination = {.signal_sent = 9, .forced = true, .unreapable = true, .strays = {}};
  end.started = open_->started;
  end.leader_ended = end.ended = Clock::now();
  if (ranks_) child_ = ranks_->merged();
  AttemptEnded event = describe(&end);
  event.telemetry = take_telemetry(&end);
  context_.sink.on(event);
}

void RunningAttempt::clean_up(const ProcessEnd& end) {
  for (const auto& file : {result_file_, cases_file_, rank_plan_}) {
    if (!file.empty()) ::unlink(file.c_str());
  }
  if (!rendezvous_.empty()) clean_rendezvous();
  if (scratch_.empty() || end.termination.unreapable) return;  // what cannot be killed may still write there
  if (auto emptied = context_.scratch.give_back(scratch_); !emptied) {
    context_.sink.on(Warning{"scratch_left",
                             "failed to " + emptied.error().what + " after " + plan_.cases.front().test->id});
  }
}

// Of one that was told of to its end: how long the rest took.
void RunningAttempt::count_start(const ProcessEnd& end) {
  if (is_batch() || end.cause != EndCause::kExited || !open_ || !open_->reported) return;
  const Clock::time_point began{std::chrono::nanoseconds(child_.start_ns())};  // by a clock that we share
  if (child_.start_ns() <= 0 || began > *open_->reported) return;
  context_.start_costs.add(*plan_.suite, *of(open_->which).test,
                           Milliseconds(ms_between(end.started, end.leader_ended)),
                           Milliseconds(ms_between(began, *open_->reported)));
}

void RunningAttempt::tell_lost_guard(const ProcessEnd& end) {
  const auto& termination = end.termination;
  if (end.guard_late > Milliseconds(0))
    context_.sink.on(
        Warning{"guard_slow", fmt::format("the process that guards {} took {} to answer: the machine is busy",
                                          blamed().test->id, human_duration(end.guard_late))});
  if (termination.guard_lost.empty()) return;
  context_.sink.on(
      Warning{"guard_lost", fmt::format("the process that guards {} did not end it: {}; the runner did{}",
                                        blamed().test->id, termination.guard_lost,
                                        termination.unreapable ? ", and could not kill all of it"
                                                               : ", and nothing of it is left")});
}

void RunningAttempt::on_process_end(const ProcessEnd& end) {
  const auto crash = crash_of(end);
  crashed_ = crash.has_value();
  if (crash) return look_at_core(end, *crash);
  finish(end);
}

// Once for each time, whatever ran meanwhile.
void RunningAttempt::tell_frozen() {
  const auto total = context_.containment.frozen();
  const auto since = std::chrono::duration_cast<Milliseconds>(total - context_.frozen_told);
  if (since < FrozenTime::kNotable) return;
  context_.frozen_told = total;
  context_.sink.on(Warning{"frozen", "the runner did not run for " + human_duration(since) +
                                         ": it was frozen, stopped or suspended; no limit counts this time"});
}

void RunningAttempt::finish(const ProcessEnd& end) {
  tell_lost_guard(end);
  tell_frozen();
  if (!end.pass_through_lost.empty()) {
    context_.sink.on(Warning{
        std::string(kOutputNotPassed),
        "the output of " + blamed().test->id + " was not passed on in full: " + end.pass_through_lost});
  }
  if (end.broken_commands > 0) {
    context_.sink.on(
        Warning{"workflow_commands", std::to_string(end.broken_commands) +
                                         " workflow commands in the output of " + blamed().test->id +
                                         " were broken with a backslash; --workflow-commands lets "
                                         "them speak for the step"});
  }
  if (readiness_ && !ending_) readiness_->streams_ended(Clock::now());
  const bool none_began = std::find(begun_.begin(), begun_.end(), true) == begun_.end();
  auto fate = ProcessFate::kEnded;
  if (none_began && end.cause != EndCause::kStopped) {
    fate = ProcessFate::kNeverBegan;
    begin(0, end.started);
  } else if (open_ && !(end.cause == EndCause::kExited && end.exit_code && open_->reported)) {
    fate = ProcessFate::kDiedInCase;
  }
  count_start(end);
  if (open_) conclude(&end);
  clean_up(end);
  readiness_.reset();
  const auto done = std::move(on_done_);
  done(fate);  // may destroy this
}

}  // namespace proctor
