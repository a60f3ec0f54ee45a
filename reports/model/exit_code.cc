#include "reports/model/exit_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "harness/core/count_text.h"
#include "harness/core/exit_code.h"
#include "harness/core/outcome_meaning.h"
#include "harness/core/text.h"
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

constexpr std::string_view kOurKind = "proctor";

// What a suite's own tests skipped while they ran, or would have.
struct SuiteSkips {
  std::size_t cases = 0;
  std::size_t skipped = 0;
  std::string why{};  // of the first one
};

bool is_skip(const RunModel& model, const CaseRecord& record) {
  const Verdict verdict = model.verdict(record);
  return verdict.outcome == Outcome::kSkip && verdict.reason != Reason::kDisabled;
}

// By the test itself. What Proctor skips states its need, and has rules of its own.
bool is_own_skip(const RunModel& model, const CaseRecord& record) {
  constexpr Reason kOfProctor[] = {Reason::kNeeds, Reason::kNoDevice, Reason::kNoDriver, Reason::kHidden,
                                   Reason::kDriverTooOld};
  const auto is_reason = [&](Reason reason) { return model.verdict(record).reason == reason; };
  return is_skip(model, record) && std::ranges::none_of(kOfProctor, is_reason);
}

SuiteSkips skips_of(const RunModel& model, const PlannedSuite& suite) {
  SuiteSkips skips;
  for (const CaseRecord& record : model.cases()) {
    if (record.planned.suite != suite.name || record.planned.backend != suite.backend) continue;
    ++skips.cases;
    if (is_own_skip(model, record) && skips.skipped++ == 0)
      skips.why = clean_text(model.verdict(record).reason.text());
  }
  return skips;
}

bool has_devices(const RunPlanned& plan, const PlannedSuite& suite) {
  return suite.devices > 0 &&
         std::ranges::find(plan.devices, suite.backend, &PlannedDevice::backend) != plan.devices.end();
}

std::string open_skips_of(const RunModel& model, const PlannedSuite& suite) {
  const SuiteSkips skips = skips_of(model, suite);
  if (skips.skipped == 0 || suite.devices_declined || suite.kind == kOurKind) return {};
  if (has_devices(model.plan(), suite) && skips.skipped == skips.cases)
    return fmt::format("suite `{}` uses devices, and {} ({}). To run without the suite, add --exclude '{}/*'",
                       suite.name,
                       skips.cases == 1 ? "its only case was skipped"
                                        : fmt::format("all of its {} cases were skipped", skips.cases),
                       skips.why, suite.name);
  if (suite.devices > 0 || model.plan().vendors_here.empty()) return {};
  return fmt::format(
      "suite `{}` skipped {} and got no device, although this machine has some. Add --gpus 1, or "
      "--gpus 0 if it needs none",
      suite.name, count_text(skips.skipped, "case"));
}

std::string forbidden_skips(const RunModel& model) {
  const std::string& reasons = model.plan().fail_on_skip;
  if (reasons.empty()) return {};
  const auto is_forbidden = [&](const CaseRecord& record) {
    return is_skip(model, record) && glob_match(reasons, model.verdict(record).reason.text());
  };
  const auto count = std::ranges::count_if(model.cases(), is_forbidden);
  if (count == 0) return {};
  const auto first = std::ranges::find_if(model.cases(), is_forbidden);
  return fmt::format("--fail-on-skip={} was given, and {} skipped, first {} ({})", clean_text(reasons),
                     count == 1 ? "1 case was" : fmt::format("{} cases were", count),
                     clean_text(first->planned.id), clean_text(model.verdict(*first).reason.text()));
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

std::string option_that_allows(const RunModel& model, const FlakyCases& flaky) {
  const int executed = model.summary().executed();
  const int least = (flaky.count * 100 + executed - 1) / std::max(executed, 1);
  return fmt::format("--flaky pass:{}%", flaky.count == 1 ? 1 : std::min(least, 100));
}

int least_executed(const RunModel& model) {
  const RunPlanned& plan = model.plan();
  const bool empty_shard = plan.shard && model.cases().empty();
  const bool may_be_none = empty_shard || (plan.allow_no_device && !plan.no_device_for.empty());
  return may_be_none ? plan.min_executed : std::max(plan.min_executed, 1);
}

std::vector<std::string> open_skips(const RunModel& model) {
  std::vector<std::string> sentences;
  if (model.plan().exec) return sentences;
  for (const PlannedSuite& suite : model.plan().suites) sentences.push_back(open_skips_of(model, suite));
  sentences.push_back(forbidden_skips(model));
  std::erase(sentences, "");
  return sentences;
}

bool is_red_by_flaky_alone(const RunModel& model) {
  const auto is_red = [&model](const CaseRecord& record) {
    return run_code_of(model, record) == RunCode::kRed;
  };
  return !flaky_cases(model).allowed && !model.warned_of(WarningCode::kPartRefused) &&
         std::none_of(model.cases().begin(), model.cases().end(), is_red);
}

int exit_code_so_far(const RunModel& model) {
  bool red = !flaky_cases(model).allowed || model.warned_of(WarningCode::kPartRefused);
  bool machine = model.warned_of_machine();
  bool incomplete = (!model.plan().no_device_for.empty() && !model.plan().allow_no_device) ||
                    model.warned_of(WarningCode::kPartIncomplete) || !open_skips(model).empty();
  for (const CaseRecord& record : model.cases()) {
    const RunCode code = run_code_of(model, record);
    red = red || code == RunCode::kRed;
    machine = machine || code == RunCode::kMachine || unkillable(record) ||
              model.has_mark(record, Mark::kDeviceSuspect) || !devices_not_tried(model, record).empty();
    incomplete = incomplete || code == RunCode::kIncomplete;
  }
  if (red) return kExitRed;
  if (machine) return kExitMachine;
  if (incomplete || model.summary().executed() < least_executed(model)) return kExitIncomplete;
  return kExitGreen;
}

int exit_code(const RunModel& model) {
  const int code = exit_code_so_far(model);
  return code == kExitGreen && !model.ended() ? kExitIncomplete : code;
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
