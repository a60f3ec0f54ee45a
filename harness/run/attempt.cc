#include "harness/run/attempt.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "harness/core/child_protocol.h"
#include "harness/core/digest.h"
#include "harness/evidence/gatherer.h"
#include "harness/run/verdict.h"

namespace proctor {
namespace {

constexpr int kStrictUmask = 022;  // kind proctor: the same on every machine

constexpr std::size_t kHashDigits = 16;
constexpr double kSlowShare = 0.5;  // of the time limit

std::int64_t ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<Milliseconds>(to - from).count();
}

void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  const std::string prefix = name + "=";
  std::erase_if(environment, [&](const std::string& entry) { return entry.rfind(prefix, 0) == 0; });
  environment.push_back(prefix + value);
}

// The child starts in its scratch directory, so a relative program is found from the suite's.
std::string anchored(const std::string& program, const std::string& directory) {
  if (program.find('/') == std::string::npos || program.front() == '/' || directory.empty()) return program;
  return (std::filesystem::path(directory) / program).string();
}

std::string attempt_stem(const std::string& case_id, int attempt, int repeat) {
  std::string stem = sha256_hex(case_id).substr(0, kHashDigits) + "." + std::to_string(attempt);
  if (repeat > 1) stem += ".r" + std::to_string(repeat);
  return stem;
}

}  // namespace

std::string attempt_log(const std::string& case_id, int attempt, int repeat) {
  return "logs/" + attempt_stem(case_id, attempt, repeat) + ".log";
}

std::string attempt_evidence(const std::string& case_id, int attempt, int repeat) {
  return "evidence/" + attempt_stem(case_id, attempt, repeat) + ".txt";
}

RunningAttempt::RunningAttempt(AttemptContext& context, AttemptPlan plan, OnDone on_done)
    : context_(context),
      plan_(std::move(plan)),
      on_done_(std::move(on_done)),
      child_(plan_.test->name),
      started_(Clock::now()) {
  take_scratch();
  context_.sink.on(AttemptStarted{.case_id = plan_.test->id,
                                  .attempt = plan_.attempt,
                                  .repeat = plan_.repeat,
                                  .at_ms = ms_between(context_.run_started, started_),
                                  .devices = plan_.devices,
                                  .log = attempt_log(plan_.test->id, plan_.attempt, plan_.repeat)});
  process_ = ContainedProcess::start(context_.io, context_.containment, make_spec(),
                                     [this, alive = alive_](const ProcessEnd& end) {
                                       if (*alive) finish(end);
                                     });
}

RunningAttempt::~RunningAttempt() {
  *alive_ = false;
  if (gathering_) gathering_->stop(SIGKILL, Milliseconds(0));
}

// Foreign kinds keep their own TMPDIR and working directory; only a GoogleTest needs a place for its result.
void RunningAttempt::take_scratch() {
  const SuiteKind kind = plan_.suite->kind;
  if (kind == SuiteKind::kGtest) result_file_ = context_.scratch.new_file_name();
  if (kind != SuiteKind::kProctor) return;
  if (auto directory = context_.scratch.lease_directory(); directory) {
    scratch_ = std::move(*directory);
  } else {
    context_.sink.on(Warning{"scratch", "failed to " + directory.error().what + "; " + plan_.test->id +
                                            " runs without a directory of its own"});
  }
}

ProcessSpec RunningAttempt::make_spec() {
  const Case& test = *plan_.test;
  ProcessSpec spec;
  spec.argv = test.argv;
  spec.env = std::move(plan_.environment);
  spec.directory = plan_.suite->directory;
  if (!result_file_.empty()) spec.argv.push_back("--gtest_output=json:" + result_file_);
  if (plan_.suite->kind == SuiteKind::kProctor) {
    spec.events = true;
    spec.umask = kStrictUmask;
    if (!scratch_.empty()) {
      if (!spec.argv.empty()) spec.argv[0] = anchored(spec.argv[0], spec.directory);
      spec.directory = scratch_;
      set_variable(spec.env, "TMPDIR", scratch_);
    }
    spec.on_event_line = [this, alive = alive_](std::string_view line) {
      if (*alive) child_.add_line(line);
    };
  }
  set_variable(spec.env, child::kCaseVariable, test.id);
  set_variable(spec.env, child::kAttemptVariable, std::to_string(plan_.attempt));
  set_variable(spec.env, child::kRunDirVariable, context_.run_dir);

  spec.log_path = context_.run_dir + "/" + attempt_log(test.id, plan_.attempt, plan_.repeat);
  spec.grace = test.policy.grace;
  spec.inherit_stdio = context_.inherit_stdio;
  spec.leases = plan_.leases;
  spec.pass_through = context_.pass_through;
  if (context_.debugger.empty()) {
    if (test.policy.timeout.count() > 0) spec.timeout = test.policy.timeout;
    if (!spec.inherit_stdio) spec.stall = test.policy.stall;  // its output cannot be seen
  } else {
    spec.argv.insert(spec.argv.begin(), context_.debugger.begin(), context_.debugger.end());
  }
  if (!context_.evidence_program.empty()) {
    spec.on_limit = [this, alive = alive_](int guard_pid, std::function<void()> then) {
      if (*alive) gather(guard_pid, std::move(then));
    };
  }
  return spec;
}

void RunningAttempt::gather(int guard_pid, std::function<void()> then) {
  const Clock::time_point begin = Clock::now();
  evidence_.file = attempt_evidence(plan_.test->id, plan_.attempt, plan_.repeat);
  const GatherRequest request{.program = context_.evidence_program,
                              .guard = guard_pid,
                              .devices = plan_.devices,
                              .file = context_.run_dir + "/" + evidence_.file,
                              .environment = context_.evidence_environment};
  gathering_ = gather_evidence(
      context_.io, context_.containment, request,
      [this, alive = alive_, begin, then = std::move(then)](Gathered gathered) {
        if (!*alive) return;
        evidence_.lines = std::move(gathered.lines);
        evidence_.duration_ms = ms_between(begin, Clock::now());
        gathering_.reset();
        if (!gathered.problem.empty()) {
          context_.sink.on(Warning{"evidence", "the evidence of " + plan_.test->id + " " + gathered.problem});
        }
        then();
      });
}

void RunningAttempt::stop(int signal, Milliseconds grace, const std::string& reason) {
  if (stop_reason_.empty()) stop_reason_ = reason;
  process_->stop(signal, std::min(grace, plan_.test->policy.grace));
}

void RunningAttempt::abandon() {
  *alive_ = false;
  ProcessEnd end;
  end.cause = EndCause::kStopped;
  end.termination = {.signal_sent = 9, .forced = true, .unreapable = true, .strays = {}};
  end.started = started_;
  end.leader_ended = end.ended = Clock::now();
  context_.sink.on(describe(end));
}

AttemptEnded RunningAttempt::describe(const ProcessEnd& end) {
  AttemptEvidence evidence{.kind = plan_.suite->kind,
                           .cause = end.cause,
                           .spawn_error = end.spawn_error,
                           .exit_code = end.exit_code,
                           .exit_signal = end.exit_signal,
                           .stop_reason = stop_reason_.empty() ? "interrupted" : stop_reason_,
                           .child = child_,
                           .gtest = std::nullopt};
  if (!result_file_.empty()) evidence.gtest = read_gtest_result(result_file_);

  AttemptEnded event;
  event.case_id = plan_.test->id;
  event.attempt = plan_.attempt;
  event.repeat = plan_.repeat;
  event.at_ms = ms_between(context_.run_started, Clock::now());
  event.verdict = judge(evidence);
  event.exit_code = end.exit_code;
  event.exit_signal = end.exit_signal;
  event.termination = end.termination;
  event.termination.kill_to_empty_ms = end.kill_to_empty.count();
  event.output = end.output;
  event.output.log = attempt_log(plan_.test->id, plan_.attempt, plan_.repeat);
  if (!is_bad(
          event.verdict.outcome)) {  // nobody asks: the log has it all, and a journal of passes stays small
    event.output.stdout_tail.clear();
    event.output.stderr_tail.clear();
  }
  event.evidence = evidence_;
  event.last_step = child_.last_step();
  if (evidence.gtest) {
    event.failures = std::move(evidence.gtest->failures);
  } else {
    event.failures = child_.failures();
  }
  event.measures = child_.measures();
  event.rule = child_.rule();
  event.source = child_.source();
  event.severity = child_.severity();

  if (end.spawn_error) {
    Failure failure;
    failure.message = "failed to " + end.spawn_error->step + " " + plan_.test->argv.front() + ": " +
                      std::strerror(end.spawn_error->err);
    event.failures.push_back(std::move(failure));
  } else {
    event.duration_ms = ms_between(end.started, end.leader_ended);
  }
  if (child_.violations() > 0) {
    Failure failure;
    failure.message = "wrote " + std::to_string(child_.violations()) + " lines to " +
                      child::kEventsFdVariable +
                      " that are not its events; the first: " + child_.first_violation();
    event.failures.push_back(std::move(failure));
  }

  if (end.cause == EndCause::kExited && !end.termination.strays.empty()) event.marks.push_back("leaky");
  if (!child_.warnings().empty()) event.marks.push_back("warn");
  const auto limit = static_cast<double>(plan_.test->policy.timeout.count());
  const bool slow = limit > 0 && static_cast<double>(event.duration_ms) > kSlowShare * limit;
  if (slow && end.cause == EndCause::kExited) event.marks.push_back("slow");
  return event;
}

void RunningAttempt::warn_about_child() {
  for (const auto& text : child_.warnings())
    context_.sink.on(Warning{"case_warning", plan_.test->id + ": " + text});
}

void RunningAttempt::clean_up(const ProcessEnd& end) {
  if (!result_file_.empty()) ::unlink(result_file_.c_str());
  if (scratch_.empty() || end.termination.unreapable) return;  // what cannot be killed may still write there
  if (auto emptied = context_.scratch.give_back(scratch_); !emptied) {
    context_.sink.on(
        Warning{"scratch_left", "failed to " + emptied.error().what + " after " + plan_.test->id});
  }
}

void RunningAttempt::finish(const ProcessEnd& end) {
  const AttemptEnded event = describe(end);
  warn_about_child();
  if (!end.pass_through_lost.empty()) {
    context_.sink.on(
        Warning{std::string(kOutputNotPassed),
                "the output of " + plan_.test->id + " was not passed on in full: " + end.pass_through_lost});
  }
  clean_up(end);
  context_.sink.on(event);
  const auto done = std::move(on_done_);
  done(event);  // may destroy this
}

}  // namespace proctor
