// `proctor exec`: one command, started as it was typed, under containment, mask, limits and reports. It is a
// run with a plan of one case; the command's output, its exit code and its signal are passed on.
#include "harness/cli/commands.h"
#include "harness/cli/exec_display.h"
#include "harness/cli/run_command.h"
#include "harness/core/exit_code.h"
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
  Backend likely_backend() const;
};

// Devices that are asked for without their backend.
Backend ExecCommand::likely_backend() const {
  const bool only_cuda = simulation() && simulation()->topology.xpu.empty();
  return only_cuda ? Backend::kCuda : Backend::kXpu;
}

Result<PlanOutcome> ExecCommand::make_plan() {
  if (!after_dashes()) {
    return Error::usage("read the command line of proctor exec: there is no command",
                        "Write it after `--`: proctor exec [OPTIONS] -- COMMAND ARGS…");
  }
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
  setup.pass_through = !setup.inherit_stdio;
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
      "Without --timeout there is no time limit. Without --gpus or --backend it sees no accelerator.");
  auto options = std::make_shared<RunOptions>();
  add_exec_options(*command, *options);
  command->callback([options, &action, &after_dashes] {
    action = [options, &after_dashes] { return ExecCommand(*options, after_dashes).execute(); };
  });
}

}  // namespace proctor::cli
