// The rules that are asked of each cell, and what rules see: the inside of judge.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/gate/gate.h"

namespace proctor::judging {

using Texts = std::vector<std::string>;

bool counts_as_executed(const GateCase& one);

struct JudgedEntry {
  const GateKnownFailure* entry = nullptr;
  int hits = 0;
};

// What is computed once.
struct Judging {
  const GateInputs& inputs;
  std::int64_t at_ms = 0;
  std::vector<const GateReport*> reports;  // sorted, each journal once
  Texts repeated;                          // names of those that were given more than once
  std::vector<JudgedEntry> entries;
  std::set<std::string> used_skips;  // reasons of the policy
  std::set<const GateReport*> taken;
};

class CellView {
 public:
  CellView(Judging& judging, const GateCell& cell) : all(judging), cell(cell) {
    const auto found = judging.inputs.plans.find(cell.plan);
    if (found != judging.inputs.plans.end()) plan = &found->second;
  }

  const GatePolicy& policy() const { return all.inputs.policy; }

  template <typename Use>
  void for_each_case(const Use& use) const {
    for (const GateReport* report : reports) {
      report->cases.for_each([&](const GateCase& one) {
        const GateGroup& group = report->groups[one.group];
        if (group.suite == cell.suite && group.backend == cell.backend) use(*report, group, one);
      });
    }
  }
  template <typename Use>
  void for_each_group(const Use& use) const {
    for (const GateReport* report : reports) {
      if (const GateGroup* group = report->group(cell.suite, cell.backend)) use(*report, *group);
    }
  }
  // The devices that executed something.
  template <typename Use>
  void for_each_device(const Use& use) const {
    for_each_group([&](const GateReport& report, const GateGroup& group) {
      for (const auto& [id, device_use] : group.devices) {
        const auto found = std::ranges::find(report.plan.devices, id, &PlannedDevice::id);
        const PlannedDevice unknown{.id = id, .backend = cell.backend, .name = "", .simulated = false};
        use(report, found != report.plan.devices.end() ? *found : unknown, device_use);
      }
    });
  }
  const std::vector<std::string>* planned_ids() const {
    if (plan == nullptr) return nullptr;
    const auto found = plan->cases.find({cell.suite, cell.backend});
    return found != plan->cases.end() ? &found->second : nullptr;
  }
  int planned() const {
    if (plan != nullptr) return planned_ids() != nullptr ? static_cast<int>(planned_ids()->size()) : 0;
    return count_cases([](const GateCase&) { return true; });
  }
  int executed() const { return count_cases(counts_as_executed); }

  // Each case counts once, even if two runs that fill the cell have it.
  template <typename Is>
  int count_cases(const Is& is) const {
    std::set<std::string_view> ids;
    for_each_case([&](const auto&, const auto&, const GateCase& one) {
      if (is(one)) ids.insert(one.id);
    });
    return static_cast<int>(ids.size());
  }

  Judging& all;
  const GateCell& cell;
  std::vector<const GateReport*> reports{};
  const GatePlan* plan = nullptr;
};

// A rule that is asked of each cell.
struct CellRule {
  std::string_view name;
  void (*ask)(const CellView& view, GateFinding& finding);
};
// In the order in which a verdict has them.
std::span<const CellRule> cell_rules();

void red(GateFinding& finding, std::string why);

// Of the stack; "": unknown.
std::string fact(const GateReport& report, std::string_view name);
const SubjectFact& subject_fact(const GateReport& report, const std::string& name);
std::string models_in(const GateReport& report, const std::string& backend);
bool has_model(const GateReport& report, const std::string& backend, const std::string& glob);
bool covers(const GateKnownFailure& entry, std::string_view id);

}  // namespace proctor::judging
