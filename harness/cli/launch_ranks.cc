// `proctor launch-ranks`: the leader of a case with ranks (harness/process/ranks/). The runner starts it; nobody
// types it.
#include <cstdlib>
#include <memory>

#include "harness/base/read_file.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/journal/exit_code.h"
#include "harness/process/guard/protocol.h"
#include "harness/process/ranks/rank_supervisor.h"

namespace proctor::cli {
namespace {

int launch(const std::string& file) {
  const auto text = read_file(file);
  if (!text) return fail(text.error());
  const auto plan = parse_rank_plan(*text);
  if (!plan) return fail(plan.error());
  const auto launched = supervise_ranks(*plan, guard::kChildEventsFd);
  return launched ? kExitGreen : fail(launched.error());
}

}  // namespace

void add_launch_ranks_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("launch-ranks", "Start the ranks of a case")->group("");
  auto file = std::make_shared<std::string>();
  command->add_option("PLAN", *file, "What to start")->required();
  command->callback([file, &action] { action = [file] { return launch(*file); }; });
}

}  // namespace proctor::cli
