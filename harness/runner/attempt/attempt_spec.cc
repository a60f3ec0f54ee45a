#include "harness/runner/attempt/attempt_spec.h"

#include <fmt/format.h>

#include <filesystem>

#include "harness/base/argv.h"
#include "harness/journal/child_protocol.h"

namespace proctor {
namespace {

constexpr int kStrictUmask = 022;  // kind proctor: the same value on every machine

// Returns the absolute path of a relative program. It is relative to the directory of the suite, but the child starts
// in its scratch directory.
std::string anchored(const std::string& program, const std::string& directory) {
  if (program.find('/') == std::string::npos || program.front() == '/' || directory.empty()) return program;
  return (std::filesystem::path(directory) / program).string();
}

// Makes the kind write its captured output to a file of the run directory. The file remains if the runner is killed.
void keep_captured(const Kind& kind, ProcessSpec& spec) {
  const std::string file = spec.log_path + ".captured";
  const std::vector<std::string> options = kind.output_options(file);
  if (options.empty()) return;
  spec.argv = with(std::move(spec.argv), options);
  for (const std::string_view ending : kCapturedEndings)
    spec.captured_in.emplace_back(ending == ".err" ? Stream::kErr : Stream::kOut,
                                  fmt::format("{}{}", file, ending));
}

}  // namespace

void add_variables(const AttemptSetup& setup, const AttemptPlan& plan, const AttemptFiles& files,
                   std::vector<std::string>& environment) {
  if (!files.scratch.empty()) set_variable(environment, "TMPDIR", files.scratch);
  if (!plan.is_batch()) set_variable(environment, child::kCaseVariable, plan.first().test->id);
  set_variable(environment, child::kAttemptVariable, std::to_string(plan.first().attempt));
  set_variable(environment, child::kRunDirVariable, setup.run_dir);
  set_variable(environment, child::kRunIdVariable, setup.run_id);
}

ProcessSpec make_spec(const AttemptSetup& setup, const AttemptPlan& plan, AttemptFiles& files) {
  const Case& first = *plan.first().test;
  const ReportingMode reporting_mode = plan.reporting_mode();
  ProcessSpec spec;
  spec.argv =
      files.cases_file.empty() ? first.argv : plan.kind().batch_command(plan.tests(), files.cases_file);
  spec.env = plan.environment.variables;
  spec.directory = plan.suite->directory;
  if (plan.suite->host_pids) spec.reach = Reach::kHostPids;
  if (!files.result_file.empty())
    spec.argv = plan.kind().with_output(std::move(spec.argv), files.result_file);
  if (reporting_mode == ReportingMode::kStream)
    spec.argv = with(std::move(spec.argv), plan.kind().output_options(kEventsFile));
  if (plan.kind().ours()) {
    spec.umask = kStrictUmask;
    if (!files.scratch.empty()) {
      if (!spec.argv.empty()) spec.argv[0] = anchored(spec.argv[0], spec.directory);
      spec.directory = files.scratch;
    }
  }
  spec.events = reporting_mode == ReportingMode::kEvents || reporting_mode == ReportingMode::kStream;
  add_variables(setup, plan, files, spec.env);
  files.directory = spec.directory;
  if (!files.log.empty()) spec.log_path = setup.run_dir + "/" + files.log;
  if (reporting_mode == ReportingMode::kEvents && !files.log.empty()) keep_captured(plan.kind(), spec);
  spec.inherit_stdio = setup.inherit_stdio;
  spec.leases = plan.leases;
  spec.inherited = setup.inherited;
  spec.pass_through = setup.pass_through;
  spec.break_commands = setup.break_commands;
  spec.limits = limits_of(setup, first.policy);
  if (has_startup_clock(setup, plan)) spec.limits.timeout = first.policy.startup;
  spec.argv.insert(spec.argv.begin(), setup.debugger.begin(), setup.debugger.end());
  return spec;
}

bool has_startup_clock(const AttemptSetup& setup, const AttemptPlan& plan) {
  return setup.debugger.empty() && report_begin_and_end(plan.reporting_mode()) &&
         plan.first().test->policy.startup.has_value();
}

ProcessLimits limits_of(const AttemptSetup& setup, const CasePolicy& policy) {
  ProcessLimits limits;
  limits.grace = policy.grace;
  if (!setup.debugger.empty()) return limits;
  limits.timeout = policy.timeout;
  if (!setup.inherit_stdio) limits.stall = policy.stall;  // the runner cannot see the output of such a case
  return limits;
}

ProcessLimits limits_after_end(const AttemptSetup& setup, const AttemptPlan& plan, const Case& test) {
  ProcessLimits limits = limits_of(setup, plan.suite->policy);
  if (test.policy.shutdown && setup.debugger.empty()) limits.timeout = test.policy.shutdown;
  return limits;
}

}  // namespace proctor
