// `proctor plan -o FILE`: what `run` with the same options would do, as a file for `run --plan`.
#include <cstdio>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/steps/run_options.h"
#include "harness/core/exit_code.h"
#include "harness/core/replace_file.h"
#include "harness/machine/discovery.h"
#include "harness/machine/installation.h"
#include "harness/plan/plan_file.h"
#include "harness/run/record/run_directory.h"

namespace proctor::cli {
namespace {

struct WriteOptions {
  MachineOptions machine;
  PlanOptions plan;
  std::string file;
};

int write_plan(WriteOptions options, const AfterDashes& after_dashes) {
  if (auto usable = check_output_file("-o", options.file); !usable) return fail(usable.error());
  if (auto completed = complete(options.plan, after_dashes); !completed) return fail(completed.error());
  const auto machine = Machine::open(options.machine, new_run_id());
  if (!machine) return fail(machine.error());
  options.plan.on_wait = tell_wait;
  auto outcome = discover_plan(options.plan, **machine);
  if (!outcome) return fail(outcome.error());
  for (const auto& warning : outcome->warnings) {
    std::fprintf(stderr, "proctor: warning: %s\n", shown(warning.text).c_str());
  }
  // A plan is run by others, who may have the device that its list needs.
  for (const Case& test : outcome->plan.cases) {
    if (is_unlisted(test))
      return fail(Error::refused("Suite `" + test.id + "` cannot be planned: " + test.unlisted,
                                 "Plan it on a machine with a device, or simulate one with --sim."));
  }
  const PlanFile file{.plan = std::move(outcome->plan), .run = outcome->run, .extent = options.plan.extent};
  const PlanDirectories directories = plan_directories(options.plan.config.directory);
  const auto text = plan_file_text(file, directories);
  if (!text) return fail(text.error());
  const auto digest = plan_file_digest(file, directories);
  if (!digest) return fail(digest.error());
  if (auto written = replace_file(options.file, *text); !written) return fail(written.error());
  const std::size_t cases = file.plan.cases.size();
  const std::size_t suites = file.plan.suites.size();
  std::printf("%zu %s of %zu %s in %s, digest %s\n", cases, cases == 1 ? "case" : "cases", suites,
              suites == 1 ? "suite" : "suites", shown(options.file).c_str(), digest->c_str());
  return kExitGreen;
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action, const AfterDashes& after_dashes) {
  auto* command =
      app.add_subcommand("plan", "Write a plan to a file, for `run --plan` on one or more machines");
  auto options = std::make_shared<WriteOptions>();
  add_plan_options(*command, options->plan);
  add_lease_wait_option(*command, options->plan);
  add_machine_options(*command, options->machine);
  add_limit_options(*command, options->plan.limits);
  add_verdict_options(*command, options->plan.limits);
  command->add_option("--output,-o", options->file, "File of the plan (required)")
      ->type_name("FILE")
      ->required();
  group_options(*command);
  command->callback([options, &action, &after_dashes] {
    action = [options, &after_dashes] { return write_plan(*options, after_dashes); };
  });
}

}  // namespace proctor::cli
