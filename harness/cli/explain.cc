// Implements `proctor explain CASE`: prints what a case of the built-in suites checks, the source of its rule, and the
// faults that must make it fail. `proctor explain xid:79` prints the meaning of a rule of the diagnosis.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "fixtures/simgpu/spec/fault_table.h"
#include "harness/base/backend.h"
#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/classify/explain_rule.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/explain_mask.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/request/suite_arguments.h"
#include "harness/runner/machine/discover_plan.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/record/run_directory.h"
#include "harness/selftest/coverage.h"
#include "harness/selftest/matrix.h"
#include "harness/selftest/rule_sentences.h"

namespace proctor::cli {
namespace {

struct ExplainOptions {
  PlanOptions plan;
  std::vector<std::string> suite_arguments{};
  std::string id;
  bool json = false;
};

std::string suite_of(const std::string& id) { return id.substr(0, std::min(id.find('.'), id.find('/'))); }

// Finds a case by its id. For a parametrized check without its parameter, it returns the first case. The suite may be
// left out if only one suite has the case; the result then has one case for each backend of that suite.
Result<std::vector<const Case*>> find_cases(const Plan& plan, const std::string& wanted) {
  std::vector<std::string> known;
  std::vector<const Case*> found;
  for (const Case& test : plan.cases) {
    const std::string check = check_id(test.id);
    if (test.id == wanted) return std::vector{&test};
    const bool named = check == wanted || test.name == wanted || check.substr(check.find('/') + 1) == wanted;
    if (named && (found.empty() || check_id(found.back()->id) != check)) found.push_back(&test);
    known.push_back(test.id);
    known.push_back(test.name);
  }
  if (found.empty()) {
    return Error::refused("There is no case `" + wanted + "`",
                          did_you_mean(wanted, known, "Run `proctor list` to see the ids."));
  }
  if (suite_of(found.front()->id) != suite_of(found.back()->id)) {
    return Error::refused("Several suites have a case `" + wanted + "`",
                          "Write `" + found.front()->id + "` or `" + found.back()->id + "`.");
  }
  return found;
}

// Returns the built-in suites to search, because a configuration in this directory would replace them by its own. The
// part before a slash may also be the name of a check with a parameter: AllReduce.EveryReductionIsExact/i8.
std::vector<std::string> suites_for(const std::string& id) {
  const auto slash = id.find('/');
  const auto dot = id.rfind('.', slash);
  const bool name_alone = slash != std::string::npos && dot != std::string::npos &&
                          !parse_backend(id.substr(dot + 1, slash - dot - 1));
  if (slash != std::string::npos && !name_alone) return {id.substr(0, std::min(dot, slash))};
  std::vector<std::string> names;
  for (const auto& suite : Installation().builtin_suites()) names.push_back(suite.name);
  return names;
}

std::string_view meaning_of(const std::string& fault) {
  const auto* info = simgpu::find_fault(fault_name(fault));
  return info == nullptr ? std::string_view("unknown") : info->meaning;
}

// Returns whether the case is from a built-in suite. Only these have rules on Proctor's pages and sources in its table.
bool is_ours(const Case& test) {
  const auto built_in = Installation().builtin_suites();
  return std::ranges::find(built_in, suite_of(test.id), &BuiltinSuite::name) != built_in.end();
}

nlohmann::json axes_json(const Case& test) {
  auto axes = nlohmann::json::array();
  for (const Axis& axis : test.axes)
    axes.push_back({{"name", axis.name}, {"values", axis.values}, {"full", axis.full}});
  return axes;
}

nlohmann::json to_json(const Case& test) {
  auto faults = nlohmann::json::array();
  for (const auto& fault : test.faults) {
    const auto* info = simgpu::find_fault(fault_name(fault));
    faults.push_back(
        {{"fault", fault}, {"blanket", info != nullptr && info->blanket()}, {"meaning", meaning_of(fault)}});
  }
  return {{"schema_version", 1},
          {"id", test.id},
          {"rule", test.rule},
          {"rule_sentence", is_ours(test) ? rule_sentence(test.rule) : ""},
          {"source", test.source},
          {"source_kind", is_ours(test) ? to_string(kind_of_source(test.source)) : ""},
          {"severity", test.severity.text()},
          {"devices", test.devices},
          {"needs", test.needs},
          {"sizes", test.sizes},
          {"sizes_unit", test.sizes_unit},
          {"axes", axes_json(test)},
          {"expects", test.expects.empty() ? "fail" : test.expects},
          {"timeout_ms", test.policy.timeout.value_or(Milliseconds(0)).count()},
          {"faults", std::move(faults)}};
}

std::string sizes_text(const Case& test) {
  std::string text;
  for (const char* name : {"smoke", "ci", "full", "stress"}) {
    const auto found = test.sizes.find(name);
    if (found == test.sizes.end()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, found->second);
  }
  return text.empty() ? text : text + " " + test.sizes_unit;
}

// Returns the axes, and the points of size ci.
std::string points_text(const Case& test, std::uint64_t seed) {
  if (test.axes.empty()) return {};
  std::string text;
  for (const Axis& axis : test.axes) {
    const std::string full =
        axis.full.empty() ? "" : fmt::format("; full also {}", fmt::join(axis.full, ", "));
    text += fmt::format("  {:<9} {}: {}{}\n", "axis", axis.name, fmt::join(axis.values, ", "), full);
  }
  const PairTable table = cover_pairs(test.axes, seed, static_cast<std::size_t>(test.points));
  text +=
      fmt::format("  {:<9} size ci, seed {}: {} of {} {} in {}; full: all\n", "points", seed, table.covered,
                  table.pairs, test.axes.size() == 1 ? "values" : "pairs of values", table.rows.size());
  for (const auto& row : table.rows) text += fmt::format("  {:<9} {}\n", "", point_text(test.axes, row));
  return text;
}

std::string severity_text(const SeverityWord& severity) {
  if (severity == Severity::kGate) return severity.text() + " (a violation fails)";
  if (severity == Severity::kWarn)
    return severity.text() + " (a violation fails on simgpu, and warns elsewhere)";
  return severity.text();
}

std::string to_text(const Case& test, std::uint64_t seed) {
  std::string text = test.id + "\n";
  const auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<9} {}\n", name, value);
  };
  const bool ours = is_ours(test);
  line("rule", ours ? test.rule + ": " + rule_sentence(test.rule) : test.rule);
  line("source",
       ours ? fmt::format("{} ({})", test.source, to_string(kind_of_source(test.source))) : test.source);
  line("severity", severity_text(test.severity));
  line("devices", std::to_string(test.devices));
  line("needs", fmt::format("{}", fmt::join(test.needs, ", ")));
  line("sizes", sizes_text(test));
  text += points_text(test, seed);
  line("timeout", test.policy.timeout ? format_duration(*test.policy.timeout) : "off");
  if (!test.expects.empty()) line("expects", test.expects + " (how a fault ends it)");
  for (std::size_t i = 0; i < test.faults.size(); ++i) {
    line(i == 0 ? "faults" : "", fmt::format("{:<30} {}", test.faults[i], meaning_of(test.faults[i])));
  }
  return text;
}

int print(const std::string& text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? kExitGreen : fail(Error::system("write to stdout", errno));
}

// Converts "Xid 79", the form in the kernel log.
std::string id_of(std::string typed) {
  if (!typed.starts_with("Xid")) return typed;
  typed.front() = 'x';
  std::ranges::replace(typed, ' ', ':');
  return typed;
}

int explain(ExplainOptions options) {
  options.id = id_of(options.id);
  std::string provider;
  if (auto read = read_suite_arguments(options.suite_arguments, {"seed"}, options.plan.extent, provider);
      !read)
    return fail(read.error());
  const auto rule = explain_rule(options.id, options.json);
  if (!rule) return fail(rule.error());
  if (*rule) return print(**rule);
  if (auto completed = complete(options.plan.config); !completed) return fail(completed.error());
  options.plan.selection.suites = suites_for(options.id);
  const auto machine = Machine::open({}, new_run_id());
  if (!machine) return fail(machine.error());
  options.plan.on_wait = report_wait;
  const auto outcome = discover_plan(options.plan, **machine);
  if (!outcome) return fail(outcome.error());
  const auto found = find_cases(outcome->plan, options.id);
  if (!found) return fail(found.error());
  if (options.json) {
    return print(to_json(*found->front()).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
                 "\n");
  }
  std::string text;
  for (const Case* test : *found) text += clean_text(to_text(*test, options.plan.extent.seed));
  return print(text);
}

}  // namespace

void add_explain_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "explain", "Explain a built-in case (rule, faults, parameters), the cause of a failure, or a mask");
  auto options = std::make_shared<ExplainOptions>();
  command
      ->add_option("case", options->id,
                   "Id of a case or a check, or a cause that a report names (xid:79, device_lost)")
      ->type_name("ID");
  command
      ->add_option("--config", options->plan.config.config_file, "Configuration file (default: proctor.toml)")
      ->type_name("FILE");
  add_suite_arguments(*command, options->suite_arguments, {"seed"});
  command->add_flag("--json", options->json, "Print one JSON document");
  command->callback([command, options, &action] {
    if (!command->get_subcommands().empty()) return;
    if (command->count("case") == 0) throw CLI::RequiredError("ID");
    action = [options] { return explain(*options); };
  });
  add_explain_mask(*command, action);
}

}  // namespace proctor::cli
