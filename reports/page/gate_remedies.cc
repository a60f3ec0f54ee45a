#include "reports/page/gate_remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace proctor {
namespace {

// {} in a line is value_for() of the rule.
struct RemedyRow {
  std::string_view rule;
  std::string_view todo;
  std::string_view line;
};

constexpr RemedyRow kRemedies[] = {
    {"once", "Give each run directory once", ""},
    {"claimed", "Add a cell for the suite, or leave the run out", "[[cell]]"},
    {"known_failures", "Repair or remove entries of the list, or allow more",
     "[gate] max_known_failures = {}"},
    {"baseline", "Give an older run", "proctor gate --baseline RUN_DIR"},
    {"report", "Run the suite on this backend and give its run directory", ""},
    {"one_run", "Give one run for the cell, or the shards of one plan", ""},
    {"shards", "Give the run directory of each shard, once", ""},
    {"journal", "Repeat the run: its journal was changed", ""},
    {"complete", "Repeat the run until it ends by itself", ""},
    {"rendered", "Render the reports again, or repeat the run", "proctor report render RUN_DIR"},
    {"signed", "Sign the journal, and add its digest to the file of `signed`", ""},
    {"subject", "State what was tested", "proctor run --subject commit=SHA"},
    {"clean", "Test a checkout without changes, or allow them", "[gate] clean = false"},
    {"age", "Repeat the run, or allow older ones", "[gate] max_age = \"{}\""},
    {"clock", "Set the clock of the machine, and repeat the run", ""},
    {"plan", "Run the plan of the cell", "proctor run --plan FILE"},
    {"options", "Repeat the run without the option", ""},
    {"variables", "Unset the variable, or allow it", "[gate] variables = [\"{}\"]"},
    {"ids", "Run exactly the cases of the plan", "proctor run --plan FILE"},
    {"program", "Test one program, that of the policy", ""},
    {"failed", "Fix the cases, or add them to the list of known failures",
     "[gate] known_failures = \"known_failures.toml\""},
    {"machine", "Repeat the run on another machine or device", "proctor rerun RUN_DIR --any-device"},
    {"unrun", "Repeat the run until every case has a result", "proctor rerun RUN_DIR"},
    {"executed", "Execute more cases, or require fewer", "[[cell]] min_executed = {}"},
    {"skips", "Remove the reason of the skip, or allow it", "[skips] \"{}\" = \"WHY\""},
    {"flaky", "Fix the cases, or allow a share of known ones", "[gate.flaky] percent = {}"},
    {"expected", "Add a valid entry for the failure to the list", "proctor gate known-failures check FILE"},
    {"unexpected_pass", "Remove the entry, or the marker, of the case", ""},
    {"stack", "Run in the image of the lock file", ""},
    {"stack_kept", "Repeat the run without a change of the driver stack", ""},
    {"hardware", "Run on hardware with a health probe, or allow simulated devices",
     "proctor run --prove-devices; [[cell]] hardware = false"},
    {"model", "Run on the model of the cell, or change its glob", "[[cell]] device = \"{}\""},
    {"devices", "Use more devices, or require fewer", "[[cell]] devices = {}"},
    {"soak", "Run longer, or require less", "[[cell]] soak = { device_hours = HOURS, resets = COUNT }"},
};

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

// What a line of the policy must say so that the rule holds.
std::string value_for(const PageGateRule& rule) {
  if (rule.rule == "skips" && !rule.says.empty()) {
    const std::string_view why = rule.says.front();
    const std::size_t colon = why.find(": ");
    return colon == std::string_view::npos ? "REASON" : std::string(why.substr(colon + 2));
  }
  if (rule.rule == "flaky") {
    const std::size_t comma = rule.value.find(", ");
    return comma == std::string::npos ? "PERCENT" : std::string(first_word(rule.value.substr(comma + 2)));
  }
  if (rule.rule == "age" || rule.rule == "model") return rule.value;
  return std::string(first_word(rule.value));
}

}  // namespace

GateRemedy remedy_of(const PageGateRule& rule) {
  const auto* row = std::ranges::find(kRemedies, rule.rule, &RemedyRow::rule);
  if (row == std::end(kRemedies)) return {};
  std::string line(row->line);
  const std::size_t at = line.find("{}");
  if (at != std::string::npos) line.replace(at, 2, value_for(rule));
  return {std::string(row->todo), std::move(line)};
}

}  // namespace proctor
