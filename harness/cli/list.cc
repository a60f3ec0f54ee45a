// `proctor list`: the cases that `run` with the same selection would plan, for people or as JSON.
#include <cstdio>

#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/core/exit_code.h"
#include "harness/core/json.h"
#include "harness/core/text.h"
#include "harness/machine/discovery.h"
#include "harness/plan/kinds/kind.h"
#include "harness/run/record/run_directory.h"

namespace proctor::cli {
namespace {

struct ListOptions {
  MachineOptions machine;
  PlanOptions plan;
  bool json = false;
};

// Only grows; readers ignore keys that they do not know.
nlohmann::json to_json(const Plan& plan) {
  auto cases = nlohmann::json::array();
  for (const auto& test : plan.cases) {
    const Suite& suite = plan.suites[test.suite];
    cases.push_back({{"id", test.id},
                     {"suite", suite.name},
                     {"backend", to_string(suite.backend)},
                     {"kind", suite.kind->name()},
                     {"name", test.name},
                     {"labels", suite.labels},
                     {"tags", test.tags},
                     {"devices", test.devices},
                     {"ranks", test.ranks},
                     {"timeout_ms", test.policy.timeout.count()},
                     {"retries", test.policy.retries},
                     {"leaks", test.policy.leaks_fail ? "fail" : "warn"},
                     {"disabled", test.disabled},
                     {"rule", test.rule},
                     {"source", test.source},
                     {"severity", test.severity}});
  }
  return {{"schema_version", 1}, {"plan_digest", plan_digest(plan)}, {"cases", std::move(cases)}};
}

int list(ListOptions options, const AfterDashes& after_dashes) {
  if (auto completed = complete(options.plan, after_dashes); !completed) return fail(completed.error());
  const auto machine = Machine::open(options.machine, new_run_id());
  if (!machine) return fail(machine.error());
  options.plan.on_wait = tell_wait;
  if (!options.machine.devices.empty()) {
    if (const auto chosen = (*machine)->devices({}); !chosen) return fail(chosen.error());
  }
  const auto outcome = discover_plan(options.plan, **machine);
  if (!outcome) return fail(outcome.error());
  for (const auto& warning : outcome->warnings) {
    std::fprintf(stderr, "proctor: warning: %s\n", shown(warning.text).c_str());
  }
  std::string text;
  if (options.json) {
    text = shown_json(to_json(outcome->plan).dump(1, ' ', false, nlohmann::json::error_handler_t::replace)) +
           "\n";
  } else {
    for (const auto& test : outcome->plan.cases) text += shown(test.id) + "\n";
  }
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? kExitGreen : fail(Error::system("write the list to stdout", errno));
}

}  // namespace

void add_list_command(CLI::App& app, Action& action, const AfterDashes& after_dashes) {
  auto* command = app.add_subcommand("list", "Print the cases that run would plan");
  auto options = std::make_shared<ListOptions>();
  add_plan_options(*command, options->plan);
  add_lease_wait_option(*command, options->plan);
  add_machine_options(*command, options->machine);
  add_devices_option(*command, options->machine);
  command->add_flag("--json", options->json, "As JSON");
  command->callback([options, &action, &after_dashes] {
    action = [options, &after_dashes] { return list(*options, after_dashes); };
  });
}

}  // namespace proctor::cli
