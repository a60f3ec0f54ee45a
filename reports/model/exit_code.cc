#include "reports/model/exit_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "harness/core/exit_code.h"
#include "harness/core/outcome_meaning.h"
#include "reports/model/device_table.h"
#include "reports/model/exec_end.h"

namespace proctor {
namespace {

bool unkillable(const CaseRecord& record) {
  for (const Attempt& attempt : record.attempts) {
    if (attempt.end && attempt.end->termination.unreapable) return true;
  }
  return false;
}

RunCode run_code_of(const RunModel& model, const CaseRecord& record) {
  const RunCode code = meaning_of(model.verdict(record), record.planned.kind).run;
  const bool by_devices = code == RunCode::kRed && model.plan().each_device && is_fault_of_devices(record);
  return by_devices ? RunCode::kMachine : code;
}

// Of a small suite a few percent are less than one case.
int most_flaky(int executed, int budget) { return budget == 0 ? 0 : std::max(1, executed * budget / 100); }

}  // namespace

FlakyCases flaky_cases(const RunModel& model) {
  FlakyCases flaky;
  for (const CaseRecord& record : model.cases())
    flaky.count += !model.is_bad(record) && model.has_mark(record, Mark::kFlaky) ? 1 : 0;
  const int most =
      model.plan().flaky_passes ? most_flaky(model.summary().executed(), model.plan().flaky_budget) : 0;
  flaky.allowed = flaky.count <= most;
  return flaky;
}

std::string options_that_allow(const RunModel& model, const FlakyCases& flaky) {
  const int executed = model.summary().executed();
  std::string options = model.plan().flaky_passes ? "" : "--flaky pass";
  if (flaky.count <= most_flaky(executed, model.plan().flaky_budget)) return options;
  const int least = (flaky.count * 100 + executed - 1) / std::max(executed, 1);
  const int budget = flaky.count == 1 ? 1 : std::min(least, 100);
  return fmt::format("{}{}--flaky-budget {}", options, options.empty() ? "" : " ", budget);
}

int least_executed(const RunModel& model) {
  const RunPlanned& plan = model.plan();
  const bool empty_shard = plan.shard && model.cases().empty();
  const bool may_be_none = empty_shard || (plan.allow_no_device && !plan.no_device_for.empty());
  return may_be_none ? plan.min_executed : std::max(plan.min_executed, 1);
}

bool is_red_by_flaky_alone(const RunModel& model) {
  const auto is_red = [&model](const CaseRecord& record) {
    return run_code_of(model, record) == RunCode::kRed;
  };
  return !flaky_cases(model).allowed && !model.warned_of(WarningCode::kPartRefused) &&
         std::none_of(model.cases().begin(), model.cases().end(), is_red);
}

int exit_code(const RunModel& model) {
  bool red = !flaky_cases(model).allowed || model.warned_of(WarningCode::kPartRefused);
  bool machine = model.warned_of_machine();
  bool incomplete = (!model.plan().no_device_for.empty() && !model.plan().allow_no_device) ||
                    model.warned_of(WarningCode::kPartIncomplete) || !model.ended();
  for (const CaseRecord& record : model.cases()) {
    const RunCode code = run_code_of(model, record);
    red = red || code == RunCode::kRed;
    machine = machine || code == RunCode::kMachine || unkillable(record) ||
              model.has_mark(record, Mark::kDeviceSuspect);
    incomplete = incomplete || code == RunCode::kIncomplete;
  }
  if (red) return kExitRed;
  if (machine) return kExitMachine;
  if (incomplete || model.summary().executed() < least_executed(model)) return kExitIncomplete;
  return kExitGreen;
}

int ending_signal(const RunModel& model) {
  return model.plan().exec ? exec_end(model).signal : model.stop_signal();
}

int shell_exit_code(const RunModel& model) {
  if (const int signal = ending_signal(model); signal != 0) return 128 + signal;
  return model.plan().exec ? exec_end(model).code : exit_code(model);
}

std::string_view run_verdict(const RunModel& model) {
  const int code = shell_exit_code(model);
  const bool as_told = model.plan().exec && code == kExitGreen;  // a server that was told to end
  if (model.stop_signal() != 0 && !as_told) return "interrupted";
  if (code == kExitMachine) return "machine";
  const bool exec = model.plan().exec;
  const bool cut_short = !model.ended() || (model.stop() && model.stop()->reason == StopCause::kParentDied);
  const bool red = exec ? code != kExitGreen : code == kExitRed;
  if (red && !(exec && cut_short)) return "red";
  if (cut_short) return "interrupted";
  return code == kExitIncomplete ? "incomplete" : "green";
}

}  // namespace proctor
