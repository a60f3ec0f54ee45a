// The rules that are asked of each cell, and what rules see: the inside of judge.cc.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/journal/outcome_meaning.h"
#include "reports/gate/gate.h"

namespace proctor {

// What the gate makes of an outcome: it follows from the exit code of a run with such a case. A failure of the machine
// counts as missing.
enum class GateResult { kPasses, kNeedsEntry, kFails, kMissing };

constexpr GateResult gate_result(const OutcomeMeaning& meaning) {
  if (meaning.run == RunVerdict::kMachineFailed) return GateResult::kMissing;
  if (meaning.run != RunVerdict::kPassed) return GateResult::kFails;
  return meaning.outcome == Outcome::kPass ? GateResult::kPasses : GateResult::kNeedsEntry;
}

inline std::string_view to_string(GateResult result) {
  return name_in({"passes", "needs an entry", "fails", "missing"}, result);
}

}  // namespace proctor

namespace proctor::judging {

using Texts = std::vector<std::string>;

inline constexpr std::int64_t kMsOfHour = 3'600'000;

struct JudgedEntry {
  const GateKnownFailure* entry = nullptr;
  int hits = 0;
};

// What is computed once.
struct Judging {
  const GateInputs& inputs;
  std::int64_t at_ms = 0;
  std::vector<const GateReport*> reports{};  // sorted, each journal once
  Texts repeated{};                          // names of those that were given more than once
  std::vector<JudgedEntry> entries{};
  std::set<std::string> used_skips{};  // reasons of the policy
  std::set<const GateReport*> taken{};
};

// Milliseconds since 1970.
struct GateSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// A device that executed something of a cell, and when.
struct CellDevice {
  const GateReport& report;
  PlannedDevice device{};
  std::vector<GateSpan> busy{};
};

class CellView {
 public:
  CellView(Judging& judging, const GateCell& cell);

  const GatePolicy& policy() const { return all.inputs.policy; }
  bool has_case_in(const GateReport& report) const;
  // Null: the cell has no plan, or its plan has no case of the suite.
  const Texts* planned_ids() const;
  int planned() const;
  int executed() const;

  template <typename Use>
  void for_each_case_of(const GateReport& report, const Use& use) const {
    for (const ResolvedCase& test : report.run.cases) {
      if (test.planned.suite == cell.suite && test.planned.backend == cell.backend) use(test);
    }
  }
  template <typename Use>
  void for_each_case(const Use& use) const {
    for (const GateReport* report : reports) for_each_case_of(*report, use);
  }

  Judging& all;
  const GateCell& cell;
  std::vector<const GateReport*> reports{};
  std::vector<CellDevice> devices{};  // by report and id
  const GatePlan* plan = nullptr;

 private:
  // Each case counts once, even if two runs that fill the cell have it.
  int count_cases(bool (*is)(const ResolvedCase&)) const;
};
std::vector<CellDevice> devices_of(const CellView& view);

// A rule that is asked of each cell.
struct CellRule {
  std::string_view name;
  void (*ask)(const CellView& view, GateFinding& finding);
};
// In the order in which a verdict has them.
std::span<const CellRule> run_rules();
std::span<const CellRule> case_rules();
std::span<const CellRule> machine_rules();

void fail_rule(GateFinding& finding, std::string why);
std::string listed(const std::set<std::string>& texts, std::string_view between = ", ");

// Asks each run of the cell. Returns how many things are wrong with them: `why` returns a sentence for each.
template <typename Why>
std::size_t ask_each_run(const CellView& view, GateFinding& finding, const Why& why) {
  const std::size_t before = finding.reasons.size();
  for (const GateReport* report : view.reports) {
    for (std::string& text : why(*report)) fail_rule(finding, std::move(text));
  }
  return finding.reasons.size() - before;
}

// ---- a case ----

GateResult gate_result_of(const ResolvedCase& test);
bool was_executed(const Verdict& verdict);
bool counts_as_executed(const ResolvedCase& test);
bool covers(const GateKnownFailure& entry, std::string_view id);

// ---- a run ----

bool has_suite(const GateReport& report, const std::string& suite, const std::string& backend);
std::string fact(const GateReport& report, std::string_view name);  // of the stack; "": unknown
const SubjectFact& subject_fact(const GateReport& report, const std::string& name);
std::string models_in(const GateReport& report, const std::string& backend);
bool has_model(const GateReport& report, const std::string& backend, const std::string& glob);
bool was_given(const RunPlanned& plan, std::string_view option);  // also a key of the configuration

}  // namespace proctor::judging
