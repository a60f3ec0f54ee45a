// `proctor accept`: whether each device of the machine is good. It is a run of the built-in suites on every device, whose
// cases follow from the level (reports/accept/accept_steps.h); its verdict is on the devices, and not on the cases.
#include <memory>

#include "harness/cli/accept_display.h"
#include "harness/cli/commands.h"
#include "harness/cli/run_command.h"

namespace proctor::cli {

void add_accept_command(CLI::App& app, Action& action, const std::vector<std::string>& command_line,
                        const AfterDashes& after_dashes) {
  auto* command = app.add_subcommand("accept", "Accept or reject each device of this machine");
  auto typed = std::make_shared<TypedRequest>();
  add_options(*command, kForAccept, *typed);
  command->callback([typed, &action, &command_line, &after_dashes] {
    typed->request.caller.command_line = command_line;
    action = [typed, &after_dashes] {
      AcceptDisplay display;
      return execute_run(*typed, after_dashes, display);
    };
  });
}

}  // namespace proctor::cli
