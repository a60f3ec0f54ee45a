// Implements `proctor list`: prints the cases that `run` with the same selection would plan, as text or JSON, or what
// they cover.
#include <algorithm>
#include <cstdio>
#include <map>

#include "harness/base/json.h"
#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/cli/add_options.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/devices/simulation.h"
#include "harness/frameworks/kind.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/plan/written_off.h"
#include "harness/runner/machine/discover_plan.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/record/run_directory.h"
#include "harness/selftest/coverage.h"

namespace proctor::cli {
namespace {

struct ListOptions {
  TypedRequest typed{};
  bool json = false;
  bool coverage = false;
};

// Later versions may only add keys, and readers ignore unknown keys.
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
                     {"timeout_ms", test.policy.timeout.value_or(Milliseconds(0)).count()},
                     {"retries", test.policy.retries},
                     {"leaks", test.policy.leaks_fail ? "fail" : "warn"},
                     {"disabled", test.disabled},
                     {"rule", test.rule},
                     {"source", test.source},
                     {"severity", test.severity.text()}});
    if (const std::string& group = test.policy.concurrency_group; !group.empty())
      cases.back()["group"] = {{"name", group}, {"max", plan.concurrency_groups.at(group)}};
    if (test.config_skip) cases.back()["config_skip"] = to_members(*test.config_skip);
  }
  return {{"schema_version", 1}, {"plan_digest", plan_digest(plan)}, {"cases", std::move(cases)}};
}

int print_out(const std::string& text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? kExitGreen : fail(Error::system("write the list to stdout", errno));
}

// Returns the functions of the vendors' interfaces, and the suites whose programs contain their names.
std::vector<VendorFunction> vendor_functions(const Plan& plan) {
  std::vector<VendorFunction> functions;
  const auto cards = parse_simulation("xpu:1x1,cuda:1");
  if (!cards) return functions;
  for (const Backend backend : {Backend::kXpu, Backend::kCuda}) {
    const SimEnvironment simulator = environment_of(*cards, backend, "", Installation().directory());
    const auto driver = read_file(simulator.driver_path);
    if (!driver) {
      std::fprintf(stderr, "proctor: warning: failed to list the functions of %s: %s\n",
                   std::string(to_string(backend)).c_str(), simulator.missing.c_str());
      continue;
    }
    std::map<std::string, std::vector<std::string>> named;
    for (const Suite& suite : plan.suites) {
      if (suite.backend != backend || suite.command.empty()) continue;
      for (std::string& name : functions_named_in(read_file_or_empty(suite.command.front()), backend))
        named[std::move(name)].push_back(suite.name + "." + std::string(to_string(backend)));
    }
    for (std::string& name : functions_named_in(*driver, backend)) {
      auto& suites = named[name];
      functions.push_back({std::move(name), std::string(to_string(backend)), std::move(suites)});
    }
  }
  return functions;
}

int print_coverage(const Plan& plan, bool json) {
  Coverage coverage = coverage_of(plan);
  coverage.functions = vendor_functions(plan);
  const auto wrong = add_calls(coverage.functions, recorded_calls(), uncalled_functions());
  if (!wrong) return fail(wrong.error());
  const auto has = [&coverage](std::string_view backend) {
    return std::ranges::find(coverage.functions, backend, &VendorFunction::backend) !=
           coverage.functions.end();
  };
  for (const std::string& text : *wrong) {  // requires both interfaces
    if (has("xpu") && has("cuda")) std::fprintf(stderr, "proctor: warning: %s\n", text.c_str());
  }
  return print_out(json ? shown_json(to_json(coverage)) : shown(to_text(coverage)));
}

int list(ListOptions options, const AfterDashes& after_dashes) {
  RunRequest& request = options.typed.request;
  if (options.coverage && request.selection.suites.empty()) {
    for (const BuiltinSuite& suite : Installation().builtin_suites())
      request.selection.suites.push_back(suite.name);
  }
  auto plan = plan_options(options.typed, after_dashes);
  if (!plan) return fail(plan.error());
  const auto machine = Machine::open(request.machine, new_run_id());
  if (!machine) return fail(machine.error());
  if (!request.machine.devices.empty()) {
    if (const auto chosen = (*machine)->devices({}); !chosen) return fail(chosen.error());
  }
  const auto outcome = discover_plan(*plan, **machine);
  if (!outcome) return fail(outcome.error());
  for (const auto& warning : outcome->warnings) {
    std::fprintf(stderr, "proctor: warning: %s\n", shown(warning.text).c_str());
  }
  if (options.coverage) return print_coverage(outcome->plan, options.json);
  std::string text;
  if (options.json) {
    text = shown_json(to_json(outcome->plan).dump(1, ' ', false, nlohmann::json::error_handler_t::replace)) +
           "\n";
  } else {
    for (const auto& test : outcome->plan.cases) text += shown(test.id) + "\n";
  }
  return print_out(text);
}

}  // namespace

void add_list_command(CLI::App& app, Action& action, const AfterDashes& after_dashes) {
  auto* command = app.add_subcommand("list", "List the cases of suites, or of the test command after `--`");
  auto options = std::make_shared<ListOptions>();
  add_options(*command, kForList, options->typed);
  command->add_flag("--json", options->json, "Print one JSON document");
  command->add_flag(
      "--coverage", options->coverage,
      "Print what the built-in suites cover: rules with their checks and faults, and vendor functions "
      "that no check calls");
  command->callback([options, &action, &after_dashes] {
    action = [options, &after_dashes] { return list(*options, after_dashes); };
  });
}

}  // namespace proctor::cli
