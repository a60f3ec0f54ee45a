// Commands that the runner starts; users do not type them. `proctor gather-evidence` inspects the processes of a case
// before they are ended (harness/process/evidence/). `proctor launch-ranks` is the leader of a case with ranks
// (harness/process/ranks/).

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "harness/base/read_file.h"
#include "harness/base/regular_file.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/devices/environment.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/process/evidence/collect.h"
#include "harness/process/evidence/crash.h"
#include "harness/process/evidence/gatherer.h"
#include "harness/process/guard/protocol.h"
#include "harness/process/ranks/rank_supervisor.h"
#include "harness/runner/machine/installation.h"

namespace proctor::cli {
namespace {

struct GatherOptions {
  CollectRequest request;
  CrashRequest crash;  // used with --crashed
  std::string budget;
  std::string file;
};

// Uses a single write, so that the runner receives all of it or nothing.
void print_digest(const EvidenceDigest& digest) {
  const std::string text = to_text(digest);
  (void)!::write(STDOUT_FILENO, text.data(), text.size());
}

int gather(GatherOptions& options) {
  const auto budget = parse_duration(options.budget);
  if (!budget) return fail(budget.error());
  options.request.budget = options.crash.budget = *budget;
  options.request.environment = options.crash.environment = caller_environment();
  options.request.more_tools = options.crash.more_tools = Installation().tool_directories();
  std::error_code ignored;  // opening the file reports the error
  std::filesystem::create_directories(std::filesystem::path(options.file).parent_path(), ignored);
  // A test may have created something at this path, such as a FIFO, which must not block this process.
  if (auto made = write_new_file(options.file, ""); !made) return fail(made.error());
  std::ofstream file(options.file);
  if (!file) return fail(Error::system("write " + options.file, errno));
  auto tools = Containment::open(Layer::kSubreaper, "evidence");
  if (!tools) return fail(tools.error());
  if (options.crash.owner.pid != 0) {
    collect_crash(options.crash, **tools, file, print_digest);
  } else {
    collect_evidence(options.request, **tools, file, print_digest);
  }
  file.close();
  return file ? kExitGreen : fail(Error::system("write " + options.file, errno));
}

}  // namespace

void add_gather_evidence_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("gather-evidence", "Look at the processes of a case")->group("");
  auto options = std::make_shared<GatherOptions>();
  auto* guard = command->add_option("--guard", options->request.guard, "Pid of the case's guard");
  auto* crashed =
      command->add_option("--crashed", options->crash.owner.pid, "Pid of a process that left a core")
          ->excludes(guard);
  command->add_option("--core-glob", options->crash.core_glob, "Glob of its core")->needs(crashed);
  command->add_option("--since", options->crash.owner.since, "Time before which a core is not its own")
      ->needs(crashed);
  command
      ->add_option("--containment-id", options->crash.owner.containment_id,
                   "Id of the case in its environment")
      ->needs(crashed);
  command
      ->add_flag("!--common-pid", options->crash.owner.is_alone,
                 "Other processes had that pid at the same time")
      ->needs(crashed);
  command->add_option("--core", options->crash.core, "Path of the kept core")->needs(crashed);
  command->add_option("--scratch", options->crash.scratch, "Directory that is emptied after the case")
      ->needs(crashed);
  command->add_option("--max-core-bytes", options->crash.room, "Bytes that the core may use there")
      ->needs(crashed);
  command->add_option("--device", options->request.devices, "A device of the case; repeatable")
      ->allow_extra_args(false);
  command->add_option("--kernel-line", options->request.kernel_lines, "A line of the kernel log; repeatable")
      ->allow_extra_args(false);
  command->add_option("--kernel-gap", options->request.kernel_gap,
                      "Reason for missing lines of the kernel log");
  command->add_option("--budget", options->budget, "Time limit of the collection")->required();
  command->add_option("--file", options->file, "File for all evidence; the ten lines go to stdout")
      ->required();
  command->callback([options, &action] { action = [options] { return gather(*options); }; });
}

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
  command->add_option("PLAN", *file, "File with the commands of the ranks")->required();
  command->callback([file, &action] { action = [file] { return launch(*file); }; });
}

}  // namespace proctor::cli
