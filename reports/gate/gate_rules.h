// The rules for each cell, and the data that rules read. Only the files of reports/gate include it.
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

// The meaning of an outcome for the gate. It follows from the exit code of a run with such a case. A failure of the
// machine counts as missing.
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

// A known failure, and the number of cases that it excused.
struct JudgedEntry {
  const GateKnownFailure* entry = nullptr;
  int hits = 0;
};

// Data that is computed once for all rules.
struct Judging {
  const GateInputs& inputs;
  std::int64_t at_ms = 0;
  std::vector<const GateReport*> reports{};  // sorted, each journal once
  Texts repeated{};                          // names of runs that were given more than once
  std::vector<JudgedEntry> entries{};
  std::set<std::string> used_skips{};  // reasons in the policy that some case has
  std::set<const GateReport*> taken{};
};

// An interval in milliseconds since 1970.
struct GateSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// A device that executed cases of a cell, and the times of these cases.
struct CellDevice {
  const GateReport& report;
  PlannedDevice device{};
  std::vector<GateSpan> busy{};
};

// One cell of the policy with the runs and devices that belong to it. Rules read it.
class CellView {
 public:
  CellView(Judging& judging, const GateCell& cell);

  const GatePolicy& policy() const { return all.inputs.policy; }
  bool has_case_in(const GateReport& report) const;
  // Returns null if the cell has no plan, or if its plan has no case of the suite.
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
  std::vector<CellDevice> devices{};  // ordered by report and id
  const GatePlan* plan = nullptr;

 private:
  // Counts each case once, even if two runs of the cell have it.
  int count_cases(bool (*is)(const ResolvedCase&)) const;
};
std::vector<CellDevice> devices_of(const CellView& view);

// A rule that is applied to each cell.
struct CellRule {
  std::string_view name;
  void (*ask)(const CellView& view, GateFinding& finding);
};
// The rules in the order of a verdict.
std::span<const CellRule> run_rules();
std::span<const CellRule> case_rules();
std::span<const CellRule> machine_rules();

void fail_rule(GateFinding& finding, std::string why);
std::string listed(const std::set<std::string>& texts, std::string_view between = ", ");

// Calls `why` for each run of the cell, and fails the rule with each returned sentence.
// Returns the number of sentences.
template <typename Why>
std::size_t ask_each_run(const CellView& view, GateFinding& finding, const Why& why) {
  const std::size_t before = finding.reasons.size();
  for (const GateReport* report : view.reports) {
    for (std::string& text : why(*report)) fail_rule(finding, std::move(text));
  }
  return finding.reasons.size() - before;
}

// ---- A case ----

GateResult gate_result_of(const ResolvedCase& test);
bool was_executed(const Verdict& verdict);
bool counts_as_executed(const ResolvedCase& test);
bool covers(const GateKnownFailure& entry, std::string_view id);

// ---- A run ----

bool has_suite(const GateReport& report, const std::string& suite, const std::string& backend);
std::string fact(const GateReport& report, std::string_view name);  // a fact of the stack; "": unknown
const SubjectFact& subject_fact(const GateReport& report, const std::string& name);
std::string models_in(const GateReport& report, const std::string& backend);
bool has_model(const GateReport& report, const std::string& backend, const std::string& glob);
bool was_given(const RunPlanned& plan, std::string_view option);  // also a key of the configuration

}  // namespace proctor::judging
