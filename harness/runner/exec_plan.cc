#include "harness/runner/exec_plan.h"

#include <fmt/format.h>

#include <utility>

#include "harness/plan/opaque.h"
#include "harness/plan/recognise.h"
#include "harness/process/guard/protocol.h"
#include "harness/runner/machine/default_devices.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/record/run_directory.h"

namespace proctor::runner {
namespace {

Result<void> read_readiness(Checked& checked) {
  const ServerRequest& server = checked.request().server;
  if (!server.ready_regex) {
    const char* without = server.ready_timeout         ? "--ready-timeout"
                          : !server.ready_file.empty() ? "--ready-file"
                                                       : nullptr;
    if (!without) return {};
    return Error::refused(std::string(without) + " requires --ready-regex",
                          "Add a regex of the line that the command prints when it is ready.");
  }
  if (checked.gives_terminal()) {
    return Error::refused(
        "--ready-regex cannot be combined with --no-capture, which does not read the output");
  }
  auto regex = LineRegex::compile(*server.ready_regex);
  if (!regex) return regex.error();
  checked.ready =
      ReadyPolicy{.regex = *std::move(regex), .timeout = server.ready_timeout, .file = server.ready_file};
  return server.ready_file.empty() ? Result<void>() : check_output_file("--ready-file", server.ready_file);
}

Result<void> check_descriptors(const std::vector<int>& inherited) {
  constexpr std::size_t kMost = guard::kMaxInherited;
  if (inherited.size() <= kMost) return {};
  return Error::refused(
      fmt::format("The command would inherit {} open descriptors from 3 on, and at most {} are passed on",
                  inherited.size(), kMost),
      fmt::format("Close those that it does not need, for example {}: {}>&-", inherited.back(),
                  inherited.back()));
}

// Selects devices by the vendor of the library that the command needs, as `run` does. If the command does not exist,
// this is reported when it is started.
Result<void> choose_devices_of(Machine& machine, bool is_number_typed, Suite& suite,
                               std::vector<Warning>& warnings) {
  if (suite.devices_by == DevicesBy::kWritten) {
    const auto named = machine.chosen();
    if (!named) return named.error();
    const auto number = named->find(suite.backend);
    if (!is_number_typed && number != named->end()) suite.devices = number->second;
    return {};
  }
  const auto executable = find_executable(suite, search_path());
  return choose_devices(machine, SuiteRole::kCommand, executable ? *executable : "", suite, warnings);
}

}  // namespace

Result<void> check_exec(Checked& checked) {
  if (checked.request().selection.command.empty()) {
    return Error::refused("`proctor exec` needs a command",
                          "Write it after `--`: proctor exec [OPTIONS] -- COMMAND ARGS…");
  }
  if (auto few = check_descriptors(checked.request().caller.inherited); !few) return few;
  return read_readiness(checked);
}

Result<FoundPlan> plan_of_command(const Checked& checked) {
  Machine& machine = *checked.machine;
  const RunRequest& request = checked.request();
  const OpaqueCommand command{.directory = request.config.directory,
                              .selection = request.selection,
                              .is_server = checked.ready.has_value(),
                              .limits = request.limits};
  std::vector<Warning> warnings = checked.asked.files.warnings;
  auto plan = plan_opaque(command, [&](Suite& suite) {
    return choose_devices_of(machine, request.selection.gpus.has_value(), suite, warnings);
  });
  if (!plan) return plan.error();
  if (request.terminal
          .workflow_commands) {  // the command may write workflow commands to each channel of its step
    for (const std::string& name : channel_variables()) {
      const auto found = machine.caller().find(name);
      if (found != machine.caller().end()) plan->suites.front().env.insert(*found);
    }
  }
  return FoundPlan{.outcome = {.plan = *std::move(plan),
                               .warnings = std::move(warnings),
                               .files = checked.asked.files.files},
                   .extent = {}};
}

}  // namespace proctor::runner
