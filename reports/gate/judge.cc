#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/base/words.h"
#include "reports/gate/gate.h"
#include "reports/gate/gate_rules.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

using namespace judging;

// ---- The rules for all runs together ----

bool asks_for(const GateCell& cell, const GateReport& report) {
  if (!has_suite(report, cell.suite, cell.backend)) return false;
  if (!cell.stack.empty() && fact(report, "image.stack") != cell.stack) return false;
  return cell.device.empty() || has_model(report, cell.backend, cell.device);
}

void once_rule(Judging& all, GateFinding& finding) {
  finding.limit = "each journal once";
  finding.value = fmt::format("{} given again", count_text(all.repeated.size(), "journal"));
  for (const std::string& name : all.repeated)
    fail_rule(finding, fmt::format("the journal of {} is given more than once", name));
}

void claimed_rule(Judging& all, GateFinding& finding) {
  finding.limit = "every suite of every run belongs to a cell";
  std::size_t unclaimed = 0;
  for (const GateReport* report : all.reports) {
    const bool empty = report->run.suites.empty() && !all.taken.contains(report);
    if (empty) fail_rule(finding, fmt::format("{} contains no case, and belongs to no cell", report->name()));
    unclaimed += empty ? 1 : 0;
    for (const SuiteSum& sum : report->run.suites) {
      const bool claimed = std::ranges::any_of(all.inputs.policy.cells, [&](const GateCell& cell) {
        return cell.suite == sum.suite && cell.backend == sum.backend && asks_for(cell, *report);
      });
      if (claimed) continue;
      ++unclaimed;
      fail_rule(finding, fmt::format("{} has {} of {}.{} on {}, which no cell covers", report->name(),
                                     count_text(sum.summary.planned(), "case"), sum.suite, sum.backend,
                                     sum.backend == "none" ? "no device" : models_in(*report, sum.backend)));
    }
  }
  finding.value = fmt::format("{} that no cell covers", count_text(unclaimed, "suite"));
}

void known_failures_rule(Judging& all, GateFinding& finding) {
  const int most = all.inputs.policy.max_known_failures;
  finding.limit =
      all.inputs.known_failures ? fmt::format("at most {}, each without a mistake", most) : "no list";
  finding.value = count_text(all.entries.size(), "known failure");
  if (static_cast<int>(all.entries.size()) > most)
    fail_rule(finding, fmt::format("{}, and {} are allowed", finding.value, most));
  for (const JudgedEntry& judged : all.entries) {
    const GateKnownFailure& entry = *judged.entry;
    if (judged.hits > 0 || entry.mistakes.empty()) continue;  // otherwise the rule of a cell reports it
    fail_rule(finding, fmt::format("{}: {}", entry.origin, joined(entry.mistakes, "; ")));
    for (const GateReport* report : all.reports) {
      for (const ResolvedCase& test : report->run.cases) {
        if (covers(entry, test.planned.id)) finding.cases.push_back(test.planned.id);
      }
    }
  }
}

void baseline_rule(Judging& all, GateFinding& finding) {
  const bool required = all.inputs.policy.baseline_required;
  finding.limit = required ? "an older run to compare with" : "not required";
  finding.value = all.inputs.baseline ? all.inputs.baseline->name : "none";
  if (required && !all.inputs.baseline)
    fail_rule(finding, "the policy requires an older run for comparison: use --baseline or --history");
  if (required && all.inputs.baseline && !all.inputs.baseline->no_past.empty())
    fail_rule(finding, "the policy requires an older run for comparison: " + all.inputs.baseline->no_past);
}

// A rule for all runs together.
struct CommonRule {
  std::string_view name;
  void (*ask)(Judging& all, GateFinding& finding);
};
constexpr CommonRule kCommonRules[] = {{"distinct_journals", once_rule},
                                       {"suites_covered", claimed_rule},
                                       {"known_failures", known_failures_rule},
                                       {"baseline", baseline_rule}};

// ---- The verdict ----

std::vector<const GateReport*> sorted(const std::vector<GateReport>& reports, Texts& repeated) {
  std::vector<const GateReport*> all;
  for (const GateReport& report : reports) all.push_back(&report);
  std::ranges::sort(all, {}, [](const GateReport* report) {
    const int shard = report->run.plan.shard ? report->run.plan.shard->index : 0;
    return std::tuple(report->run.plan.started, report->run.plan.run_id, shard, report->sha256);
  });
  std::vector<const GateReport*> once;
  for (const GateReport* report : all) {
    const bool again =
        std::ranges::any_of(once, [&](const GateReport* other) { return other->sha256 == report->sha256; });
    if (again) repeated.push_back(report->name());
    if (!again) once.push_back(report);
  }
  return once;
}

void fill(CellView& view) {
  for (const GateReport* report : view.all.reports) {
    if (asks_for(view.cell, *report)) view.reports.push_back(report);
  }
  // Adds shards without a case of the suite, because they belong to the same plan.
  const auto with_cases = view.reports;
  for (const GateReport* report : view.all.reports) {
    if (!report->run.plan.shard || view.has_case_in(*report)) continue;
    const bool same_plan = std::ranges::any_of(with_cases, [&](const GateReport* other) {
      return other->run.plan.shard && other->run.plan.shard->plan == report->run.plan.shard->plan;
    });
    if (same_plan) view.reports.push_back(report);
  }
  view.all.taken.insert(view.reports.begin(), view.reports.end());
  view.devices = devices_of(view);
}

Error at_line(const GatePolicy& policy, int line, const std::string& message, const std::string& hint) {
  return Error::usage(fmt::format("read {}:{}: {}", policy.file, line, message), hint);
}

// Returns an error if no report has the device model of the cell although no other cell matches these reports: the
// model is probably misspelt.
Result<void> check_device(const CellView& view) {
  if (view.cell.device.empty() || !view.reports.empty()) return {};
  Texts models;
  for (const GateReport* report : view.all.reports) {
    if (!view.has_case_in(*report)) continue;
    for (const GateCell& other : view.policy().cells) {
      if (asks_for(other, *report)) return {};
    }
    for (const PlannedDevice& device : report->run.plan.devices) {
      if (device.backend == view.cell.backend && glob_match(view.cell.device, device.name)) return {};
      if (device.backend == view.cell.backend) models.push_back(device.name);
    }
  }
  if (models.empty()) return {};
  std::ranges::sort(models);
  models.erase(std::unique(models.begin(), models.end()), models.end());
  return at_line(view.policy(), view.cell.line,
                 fmt::format("`device` = \"{}\" of the cell `{}` matches no device of the reports",
                             view.cell.device, view.cell.name),
                 suggestion(view.cell.device, models, "models"));
}

Result<void> check_least(const CellView& view) {
  if (view.plan == nullptr) return {};
  const GateCell& cell = view.cell;
  if (view.planned_ids() == nullptr) {
    Texts suites;
    for (const auto& [suite, ids] : view.plan->cases) suites.push_back(suite.first + "." + suite.second);
    return at_line(view.policy(), cell.line,
                   fmt::format("the plan {} has no case of {}.{}", cell.plan, cell.suite, cell.backend),
                   suggestion(cell.suite + "." + cell.backend, suites, "suites"));
  }
  if (cell.min_executed && *cell.min_executed > view.planned()) {
    return at_line(view.policy(), cell.line,
                   fmt::format("`min_executed` of the cell `{}` is {}, and its plan has {}", cell.name,
                               *cell.min_executed, count_text(view.planned(), "case")),
                   "");
  }
  return {};
}

// Returns an error for a skip reason in the policy that no case has.
Result<void> check_skips(const Judging& all) {
  Texts reasons;
  for (const GateReport* report : all.reports) {
    for (const ResolvedCase& test : report->run.cases) {
      if (test.verdict.outcome == Outcome::kSkip) reasons.push_back(test.verdict.reason.text());
    }
  }
  std::ranges::sort(reasons);
  reasons.erase(std::unique(reasons.begin(), reasons.end()), reasons.end());
  for (const GateSkip& skip : all.inputs.policy.skips) {
    if (all.used_skips.contains(skip.reason)) continue;
    const std::string hint = reasons.empty() ? "Nothing was skipped. Remove the entry."
                                             : suggestion(skip.reason, reasons, "reasons");
    return at_line(all.inputs.policy, skip.line,
                   fmt::format("`{}` in [skips] matches no skip of the reports", skip.reason), hint);
  }
  return {};
}

std::vector<CellRule> cell_rules() {
  std::vector<CellRule> rules;
  for (const auto& some : {run_rules(), case_rules(), machine_rules()})
    rules.insert(rules.end(), some.begin(), some.end());
  return rules;
}

template <typename Asked, typename Rule>
void ask(Asked& asked, const Rule& rule, std::vector<GateFinding>& findings) {
  GateFinding& finding = findings.emplace_back();
  finding.rule = rule.name;
  rule.ask(asked, finding);
}

GateCellVerdict judge_cell(const CellView& view, const std::set<std::string>& left_out) {
  GateCellVerdict verdict;
  verdict.cell = view.cell;
  verdict.planned = view.planned();
  verdict.executed = view.executed();
  for (const GateReport* report : view.reports) verdict.runs.push_back(report->name());
  for (const CellRule& rule : cell_rules()) {
    if (left_out.contains(std::string(rule.name))) continue;
    // Without a run, only the rule `report` can be applied.
    if (view.reports.empty() && rule.name != "report") continue;
    ask(view, rule, verdict.rules);
  }
  return verdict;
}

void describe_inputs(const Judging& all, GateVerdict& verdict) {
  verdict.at = all.inputs.at;
  for (const GateReport* report : all.reports)
    verdict.runs.push_back({report->name(), report->run.plan.hostname, report->sha256,
                            report->run.plan.started, report->finished()});
  for (const std::string& name : all.inputs.policy.subject) {
    std::set<std::string> values;
    for (const GateReport* report : all.reports)
      values.insert(subject_fact(*report, name).value.value_or(""));
    if (values.size() == 1 && !values.begin()->empty()) verdict.subject[name] = *values.begin();
  }
  const Day today = day_of(parse_utc(verdict.at).value_or(std::chrono::sys_seconds()));
  for (const JudgedEntry& judged : all.entries) {
    const GateKnownFailure& entry = *judged.entry;
    verdict.known_failures.push_back(
        {entry.origin, joined(entry.cases, ", "), entry.owner, entry.issue,
         entry.added ? std::optional(days_between(*entry.added, today)) : std::nullopt,
         days_between(today, entry.expires), judged.hits});
  }
}

}  // namespace

bool GateCellVerdict::passed() const { return std::ranges::all_of(rules, &GateFinding::held); }

bool GateVerdict::passed() const {
  return std::ranges::all_of(rules, &GateFinding::held) &&
         std::ranges::all_of(cells, [](const GateCellVerdict& cell) { return cell.passed(); });
}

void note_weak_plans(GateInputs& inputs) {
  GatePolicy& policy = inputs.policy;
  for (const GateCell& cell : policy.cells) {
    const auto plan = inputs.plans.find(cell.plan);
    if (plan == inputs.plans.end()) continue;
    const auto weaker = [&](const std::string& value, const std::string& strict) {
      policy.relaxations.push_back({"cell.plan", value, strict, cell.line});
    };
    if (plan->second.size == "smoke") weaker("size smoke", "size ci");
    if (!plan->second.seed.empty()) weaker("seed " + plan->second.seed, "seed 0");
  }
  std::ranges::stable_sort(policy.relaxations, {}, &GateRelaxation::line);
}

std::vector<std::string_view> gate_rules() {
  std::vector<std::string_view> names;
  for (const CommonRule& rule : kCommonRules) names.push_back(rule.name);
  for (const CellRule& rule : cell_rules()) names.push_back(rule.name);
  return names;
}

Result<GateVerdict> judge(const GateInputs& inputs, const std::set<std::string>& left_out) {
  Judging all{.inputs = inputs, .at_ms = unix_ms(inputs.at)};
  all.reports = sorted(inputs.reports, all.repeated);
  if (inputs.known_failures) {
    for (const GateKnownFailure& entry : inputs.known_failures->entries) all.entries.push_back({&entry, 0});
  }
  GateVerdict verdict;
  for (const GateCell& cell : inputs.policy.cells) {
    CellView view(all, cell);
    fill(view);
    if (auto usable = check_least(view); !usable) return usable.error();
    if (auto usable = check_device(view); !usable) return usable.error();
    verdict.cells.push_back(judge_cell(view, left_out));
  }
  for (const CommonRule& rule : kCommonRules) {
    if (left_out.contains(std::string(rule.name))) continue;
    ask(all, rule, verdict.rules);
  }
  describe_inputs(all, verdict);
  // A failed verdict is more important than this error.
  if (auto usable = check_skips(all); !usable && verdict.passed()) return usable.error();
  return verdict;
}

}  // namespace proctor
