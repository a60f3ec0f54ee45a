// `proctor exec`: one command, started as it was typed, under containment, mask, limits and reports. It is a
// run with a plan of one case; the command's output, its exit code and its signal are passed on.
#include <unistd.h>

#include "harness/cli/ci_log.h"
#include "harness/cli/commands.h"
#include "harness/cli/exec_display.h"
#include "harness/cli/run_command.h"
#include "harness/cli/run_directory.h"
#include "harness/core/exit_code.h"
#include "harness/devices/device_nodes.h"
#include "harness/plan/opaque.h"

namespace proctor::cli {
namespace {

class ExecCommand : public RunCommand {
 public:
  using RunCommand::RunCommand;

 protected:
  int refuse(const Error& error) const override { return fail_exec(error); }
  Result<PlanOutcome> make_plan() override;
  std::unique_ptr<RunDisplay> make_display() override { return std::make_unique<ExecDisplay>(run_dir()); }
  RunSetup make_setup() override;

 private:
  Result<void> read_readiness();
  Backend likely_backend() const;

  std::optional<ReadyPolicy> ready_;
};

Result<void> ExecCommand::read_readiness() {
  const RunOptions& typed = options();
  if (!typed.ready_regex) {
    const char* without = !typed.ready_timeout.empty() ? "--ready-timeout"
                          : !typed.ready_file.empty()  ? "--ready-file"
                                                       : nullptr;
    if (!without) return {};
    return Error::usage(std::string("read ") + without + ": there is no --ready-regex",
                        "Add what the command prints when it is ready.");
  }
  if (typed.no_capture) {
    return Error::usage("read --ready-regex: with --no-capture nobody sees what the command prints");
  }
  auto regex = LineRegex::compile(*typed.ready_regex);
  if (!regex) return regex.error();
  ready_ = ReadyPolicy{.regex = *std::move(regex), .timeout = {}, .file = typed.ready_file};
  if (!typed.ready_timeout.empty()) {
    const auto limit = parse_duration(typed.ready_timeout);
    if (!limit) return Error::usage("read --ready-timeout: " + limit.error().what, limit.error().hint);
    ready_->timeout = *limit;
  }
  return typed.ready_file.empty() ? Result<void>() : check_output_file("--ready-file", typed.ready_file);
}

// Devices that are asked for without their backend.
Backend ExecCommand::likely_backend() const {
  if (simulation()) return backends_of(simulation()->topology).front();
  return has_nvidia_node() && !has_intel_node() ? Backend::kCuda : Backend::kXpu;
}

Result<PlanOutcome> ExecCommand::make_plan() {
  if (!after_dashes()) {
    return Error::usage("read the command line of proctor exec: there is no command",
                        "Write it after `--`: proctor exec [OPTIONS] -- COMMAND ARGS…");
  }
  if (auto read = read_readiness(); !read) return read.error();
  const PlanOptions& typed = options().plan;
  auto plan = plan_opaque({.command = *after_dashes(),
                           .directory = typed.config.directory,
                           .backend = typed.selection.backend,
                           .likely = likely_backend(),
                           .gpus = typed.selection.gpus,
                           .limits = typed.limits});
  if (!plan) return plan.error();
  return PlanOutcome{.plan = *std::move(plan), .warnings = {}};
}

RunSetup ExecCommand::make_setup() {
  RunSetup setup = RunCommand::make_setup();
  setup.planned.exec = true;
  setup.attempts.pass_through = !setup.attempts.inherit_stdio;
  setup.attempts.break_commands = in_github_actions() && !options().workflow_commands;
  setup.attempts.ready = ready_;
  // A server is started in the background: it outlives the step of a workflow that started it.
  if (ready_) setup.watch_parent = false;
  // Nobody may take the file of a run that was killed for this one's.
  if (ready_ && !ready_->file.empty()) ::unlink(ready_->file.c_str());
  return setup;
}

}  // namespace

int fail_exec(const Error& error) {
  const int code = fail(error);
  return error.kind == ErrorKind::kSystem ? code : kExecInternal;
}

void add_exec_command(CLI::App& app, Action& action, const AfterDashes& after_dashes) {
  auto* command = app.add_subcommand("exec", "Run one command, any command, after `--`; exit as it does");
  command->footer(
      "The command's own exit code or signal is passed on, except:\n"
      "  124 ended by us on time or stall   125 we failed, or were called wrongly\n"
      "  126 cannot be executed   127 not found   75 the machine: retry elsewhere\n"
      "Without --timeout there is no time limit. Without --gpus or --backend it sees no accelerator.\n"
      "In GitHub Actions no workflow command in its output is obeyed, unless --workflow-commands is given.");
  auto options = std::make_shared<RunOptions>();
  add_exec_options(*command, *options);
  command->callback([options, &action, &after_dashes] {
    action = [options, &after_dashes] { return ExecCommand(*options, after_dashes).execute(); };
  });
}

}  // namespace proctor::cli
