#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <unordered_set>
#include <utility>

#include "harness/base/words.h"
#include "reports/page/page_sections.h"
#include "reports/page/page_template.h"
#include "reports/page/page_text.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::size_t kMostRowBytes = 300'000;  // for each table; further rows are only counted
constexpr std::size_t kMostListed = 1000;       // names in a folded list
constexpr std::size_t kMostCasesNamed =
    10;  // cases of a rule that are shown before the other cases are folded
constexpr std::size_t kMostCasesFolded = 50;
constexpr std::size_t kMostFailedNamed = 3;
constexpr std::size_t kMostSaid = 10;
constexpr std::size_t kMostChecksNamed = 100;
constexpr std::size_t kMostRelaxations = 100;
constexpr std::size_t kSourcesBytes = 200;
constexpr std::size_t kMostMatrixCells = 12;
constexpr std::size_t kMatrixValueBytes = 80;

// ---- The gate ----

std::unordered_set<std::string_view> case_ids(const PageRequest& request) {
  std::unordered_set<std::string_view> ids;
  for (const PageRun& run : request.runs) {
    for (const ResolvedCase& test : run.resolved.cases) ids.insert(test.planned.id);
  }
  return ids;
}

// Cases on the page become links into its list.
json gate_cases(const PageGateRule& rule, const std::unordered_set<std::string_view>& ids) {
  const auto view = [&ids](const std::string& id) { return ids.contains(id) ? case_link(id) : plain_id(id); };
  const std::span<const std::string> all = rule.cases;
  const std::size_t named = std::min(all.size(), kMostCasesNamed);
  json cases = json::object({{"ids", first_of(all, named, view)}});
  if (all.size() > named) cases["others"] = ids_of(all.subspan(named), kMostCasesFolded, view);
  return cases;
}

// ---- Remedies for failed rules ----

// A remedy for one rule. {} in `line` is replaced by value_for() of the rule.
struct RemedyRow {
  std::string_view rule;
  std::string_view todo;
  std::string_view line;
};

constexpr RemedyRow kRemedies[] = {
    {"distinct_journals", "Give each run directory once", ""},
    {"suites_covered", "Add a cell for the suite, or leave the run out", "[[cell]]"},
    {"known_failures", "Repair or remove entries of the list, or allow more",
     "[gate] max_known_failures = {}"},
    {"baseline", "Give an older run", "proctor gate --baseline RUN_DIR"},
    {"report", "Run the suite on this backend and give its run directory", ""},
    {"one_run", "Give one run for the cell, or the shards of one plan", ""},
    {"shards", "Give the run directory of each shard, once", ""},
    {"journal", "Repeat the run: its journal was changed", ""},
    {"complete", "Repeat the run until it ends by itself", ""},
    {"reports_match", "Render the reports again, or repeat the run", "proctor report render RUN_DIR"},
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
    {"notrun", "Repeat the run until every case has a result", "proctor rerun RUN_DIR"},
    {"executed", "Execute more cases, or require fewer", "[[cell]] min_executed = {}"},
    {"skips", "Remove the reason of the skip, or allow it", "[skips] \"{}\" = \"WHY\""},
    {"flaky", "Fix the cases, or allow a share of known ones", "[gate.flaky] percent = {}"},
    {"expected", "Add a valid entry for the failure to the list", "proctor gate known-failures check FILE"},
    {"unexpected_pass", "Remove the entry, or the marker, of the case", ""},
    {"stack", "Run in the image of the lock file", ""},
    {"stack_unchanged", "Repeat the run without a change of the driver stack", ""},
    {"hardware", "Run on hardware with a health probe, or allow simulated devices",
     "proctor run --probe-devices; [[cell]] hardware = false"},
    {"model", "Run on the model of the cell, or change its glob", "[[cell]] device = \"{}\""},
    {"devices", "Use more devices, or require fewer", "[[cell]] devices = {}"},
    {"soak", "Run longer, or require less", "[[cell]] soak = { device_hours = HOURS, resets = COUNT }"},
};

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

// Returns the value that the policy needs so that the rule holds.
std::string value_for(const PageGateRule& rule) {
  if (rule.rule == "skips" && !rule.reasons.empty()) {
    const std::string_view why = rule.reasons.front();
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

std::string remedy_line(const RemedyRow& row, const PageGateRule& rule) {
  std::string line(row.line);
  const std::size_t at = line.find("{}");
  return at == std::string::npos ? line : line.replace(at, 2, value_for(rule));
}

json failed_rule(const PageGateRule& rule, const std::unordered_set<std::string_view>& ids) {
  json says = said_lines(rule.reasons, kMostSaid);
  if (rule.reasons.size() > kMostSaid)
    says.push_back({{"said", fmt::format("and {} more", thousands(rule.reasons.size() - kMostSaid))}});
  json view = {{"badge", badge("failed", rule.rule)},
               {"cell", rule.cell.empty() ? "all runs" : rule.cell},
               {"value", rule.value},
               {"limit", rule.limit},
               {"reasons", std::move(says)}};
  // A rule that is unknown to this version has no remedy.
  if (const auto* row = std::ranges::find(kRemedies, rule.rule, &RemedyRow::rule); row != std::end(kRemedies))
    view.update({{"todo", row->todo}, {"remedy", remedy_line(*row, rule)}});
  if (!rule.cases.empty()) view["cases"] = gate_cases(rule, ids);
  return view;
}

// Adds rules until the limit; further rules are only counted.
json failed_rules(const PageGate& gate, const std::unordered_set<std::string_view>& ids) {
  if (gate.failed.empty()) return nullptr;
  json list = json::array();
  std::size_t bytes = 0;
  for (const PageGateRule& rule : gate.failed) {
    if (bytes > kMostRowBytes) break;
    list.push_back(failed_rule(rule, ids));
    bytes += html_bytes(list.back());
  }
  const std::size_t shown = list.size();
  return {{"list", std::move(list)}, {"more", beyond(gate.failed.size(), shown)}};
}

// A row for each rule, and a column for all runs together and for each cell.
json gate_matrix(const PageGate& gate) {
  std::vector<std::string_view> titles = {"Rule", "All runs"};
  std::vector<const std::vector<PageGateRule>*> columns = {&gate.rules};
  std::vector<std::string_view> names;
  for (const PageGateCell& cell : gate.cells) {
    if (columns.size() > kMostMatrixCells) break;
    titles.emplace_back(cell.name);
    columns.push_back(&cell.rules);
  }
  std::map<std::string_view, std::vector<json>> rows;
  for (std::size_t column = 0; column < columns.size(); ++column) {
    for (const PageGateRule& state : *columns[column]) {
      const auto [row, is_new] = rows.try_emplace(state.rule, columns.size() + 1);
      if (is_new) names.emplace_back(state.rule);
      row->second.front() = state.rule;
      row->second[column + 1] = {
          {"badge", badge(state.holds ? "passed" : "failed", state.holds ? "holds" : "fails")},
          {"small", page_line(state.value, kMatrixValueBytes)}};
    }
  }
  PageTable table(titles, kMostRowBytes);
  for (const std::string_view name : names) table.add(rows[name]);
  const json view = table.view();
  return view.is_null() ? json()
                        : json{{"table", view}, {"more", beyond(gate.cells.size(), kMostMatrixCells)}};
}

json gate_cells(const PageGate& gate) {
  PageTable table({"Cell", "Verdict", "#Executed", "#Planned", "Runs"}, kMostRowBytes);
  for (const PageGateCell& cell : gate.cells)
    table.add({cell.name, json::object({{"badge", badge_of(passed_or_failed(cell.passed))}}), cell.executed,
               cell.planned, joined(cell.runs, ", ")});
  return table.view();
}

json relaxation(const PageRelaxation& one) {
  return {{"line", std::to_string(one.line)}, {"key", one.key}, {"value", one.value}, {"strict", one.strict}};
}

// ---- The rules ----

// The results of the cases of a check, or of all checks of a rule, counted by look.
struct Fared {
  StyleCounts styles{};
  std::size_t cases = 0;
  std::vector<std::string> failed{};  // the first ids

  void add(std::string_view style, const std::string& id) {
    ++styles[style];
    ++cases;
    if (style == "failed" && failed.size() < kMostFailedNamed) failed.push_back(id);
  }
  void add(const Fared& other) {
    for (const auto& [style, count] : other.styles) styles[style] += count;
    cases += other.cases;
    for (const std::string& id : other.failed) {
      if (failed.size() < kMostFailedNamed) failed.push_back(id);
    }
  }
};

// Returns "memory.xpu/Copy.All" for "memory.xpu/Copy.All/Size4096".
std::string_view check_of(std::string_view id) {
  const std::size_t suite = id.find('/');
  return suite == std::string_view::npos ? id : id.substr(0, id.find('/', suite + 1));
}

using FaredByCheck = std::map<std::string_view, Fared>;

FaredByCheck fared_by_check(const std::vector<PageCase>& cases) {
  FaredByCheck checks;
  for (const PageCase& shown : cases) {
    const std::string& id = shown.test.planned.id;
    checks[check_of(id)].add(counted_as(shown.test), id);
  }
  return checks;
}

const Fared& fared_in(const FaredByCheck& checks, const PageCheck& check) {
  static const Fared kNotHere;
  const auto found = checks.find(check.id);
  return found == checks.end() ? kNotHere : found->second;
}

Fared fared_of(const PageRule& rule, const FaredByCheck& checks) {
  Fared all;
  for (const PageCheck& check : rule.checks) all.add(fared_in(checks, check));
  return all;
}

constexpr std::string_view kNotHere = "not in this run";

json fared_cell(const Fared& fared) {
  if (fared.cases == 0) return badge_cell("notrun", kNotHere);
  const std::string_view style = worst_style(fared.styles);
  json cell = badge_cell(style, label_of_style(style));
  if (style == "failed") {
    cell["cases"] = {{"ids", first_of(fared.failed, fared.failed.size(), case_link)},
                     {"more", beyond(fared.styles.at("failed"), fared.failed.size())}};
  }
  return cell;
}

json checks_cell(const PageRule& rule, const FaredByCheck& checks) {
  if (rule.checks.empty()) return badge_cell("notrun", "no check");
  const auto view = [&checks](const PageCheck& check) {
    return json{{"sign", sign_of(worst_style(fared_in(checks, check).styles))},
                {"check", check.id},
                {"faults", check.faults.empty() ? "no fault" : joined(check.faults, "; ")}};
  };
  const json list = {{"title", count_text(rule.checks.size(), "check")},
                     {"list", first_of(rule.checks, kMostChecksNamed, view)},
                     {"more", beyond(rule.checks.size(), kMostChecksNamed)}};
  return json::object({{"checks", list}});
}

// Returns the failed rules, the other rules, and the number of rules with each look.
json rule_fields(const PageCoverage& coverage, const FaredByCheck& checks) {
  StyleCounts styles;
  PageTable failed({"Rule", "In this run", "#Cases", "Checks, and the faults that kill them"}, kMostRowBytes);
  PageTable others = failed;
  std::size_t not_here = 0;
  for (const PageRule& rule : coverage.rules) {
    const Fared fared = fared_of(rule, checks);
    const std::string_view style = worst_style(fared.styles);
    ++(fared.cases == 0 ? not_here : styles[style]);
    (style == "failed" ? failed : others)
        .add({{{"text", rule.id}, {"small", page_line(joined(rule.sources, "; "), kSourcesBytes)}},
              fared_cell(fared),
              fared.cases == 0 ? json() : json(fared.cases),
              checks_cell(rule, checks)});
  }
  json summary = json::array();
  const auto add = [&summary](std::string_view style, std::size_t count, std::string_view what) {
    summary.push_back(badge_cell(style, fmt::format("{} {}", thousands(count), what)));
  };
  for (const auto& [style, count] : styles) add(style, count, label_of_style(style));
  if (not_here > 0) add("notrun", not_here, kNotHere);
  const json remaining = others.view();
  return {{"rules", count_text(coverage.rules.size(), "rule")},
          {"fared", summary},
          {"failed", failed.view()},
          {"others", remaining.is_null()         ? ""
                     : styles.contains("failed") ? "The other rules"
                                                 : "All rules"},
          {"remaining", remaining}};
}

std::string_view interface_of(const std::string& backend) {
  if (backend == "xpu") return "Level Zero";
  return backend == "cuda" ? "the CUDA Runtime" : "another interface";
}

json names_view(const std::vector<std::string>& names, const std::string& reason = "") {
  json view = ids_of(names, kMostListed, plain_id);
  view["reason"] = reason;
  return view;
}

json folded_lists(const std::string& title, json lists) {
  return {{"title", title}, {"folded", !lists.empty()}, {"lists", std::move(lists)}};
}

// Adds the functions that no check calls, by reason.
void add_functions(const PageCoverage& coverage, json& uncovered) {
  struct Interface {
    std::size_t all = 0;
    std::size_t uncalled = 0;
    std::map<std::string, std::vector<std::string>> names;  // by reason
  };
  std::map<std::string_view, Interface> interfaces;
  for (const PageCovered& function : coverage.functions) {
    Interface& of = interfaces[interface_of(function.backend)];
    ++of.all;
    if (!function.by.empty()) continue;
    ++of.uncalled;
    of.names[function.reason].push_back(function.name);
  }
  for (const auto& [name, of] : interfaces) {
    json lists = json::array();
    for (const auto& [reason, names] : of.names)
      lists.push_back(names_view(names, reason.empty() ? "No reason is given" : reason));
    uncovered.push_back(folded_lists(fmt::format("{} of {} functions of {} are called by no check",
                                                 thousands(of.uncalled), thousands(of.all), name),
                                     std::move(lists)));
  }
}

// Returns the number of rules, faults and functions without a check, with a list of each.
json uncovered_lists(const PageCoverage& coverage) {
  std::vector<std::string> rules, faults;
  for (const PageRule& rule : coverage.rules) {
    if (rule.checks.empty()) rules.push_back(rule.id);
  }
  for (const PageCovered& fault : coverage.faults) {
    if (fault.by.empty()) faults.push_back(fault.name);
  }
  const auto none_of = [](const std::vector<std::string>& names, std::size_t all, std::string_view what) {
    if (names.empty())
      return folded_lists(fmt::format("Each of {} {} has a check", thousands(all), what), json::array());
    return folded_lists(
        fmt::format("{} of {} {} have no check", thousands(names.size()), thousands(all), what),
        json::array({names_view(names)}));
  };
  json uncovered = json::array({none_of(rules, coverage.rules.size(), "rules"),
                                none_of(faults, coverage.faults.size(), "faults of the simulator")});
  add_functions(coverage, uncovered);
  return uncovered;
}

}  // namespace

// The verdict is shown only for the runs that the gate judged.
json gate_section(const PageView& view) {
  const PageRequest& request = view.request;
  if (request.gate == nullptr) return nullptr;
  const PageGate& gate = *request.gate;
  const auto judged = static_cast<std::size_t>(std::ranges::count_if(
      request.runs, [&](const PageRun& run) { return gate.journals.contains(run.journal_sha256); }));
  const std::size_t other = request.runs.size() - judged;
  const std::size_t elsewhere = gate.journals.size() - std::min(judged, gate.journals.size());
  return {
      {"badge", badge_of(passed_or_failed(gate.passed))},
      {"policy", gate.policy},
      {"digest", short_digest(gate.policy_sha256)},
      {"at", time_text(gate.at)},
      {"not_of", other == 0                 ? ""
                 : request.runs.size() == 1 ? "the run"
                                            : count_text(other, "run")},
      {"elsewhere", elsewhere == 0 ? ""
                                   : fmt::format("{} that {} not on this page", count_text(elsewhere, "run"),
                                                 plural(elsewhere, "is", "are"))},
      {"cells", gate_cells(gate)},
      {"failed", failed_rules(gate, case_ids(request))},
      {"matrix", gate_matrix(gate)},
      {"weakened", !gate.relaxations.empty()},
      {"relaxations", first_of(gate.relaxations, kMostRelaxations, relaxation)},
      {"more", beyond(gate.relaxations.size(), kMostRelaxations)}};
}

json coverage_section(const PageView& view) {
  if (view.request.coverage == nullptr) return nullptr;
  const PageCoverage& coverage = *view.request.coverage;
  json said = rule_fields(coverage, fared_by_check(view.cases));
  said["uncovered"] = uncovered_lists(coverage);
  return said;
}

}  // namespace proctor
