#include "reports/accept/judge_acceptance.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/accept/accept_parts.h"

namespace proctor {
namespace {

// "12 cases: needs:devices>=2".
std::string why_not_proven(const AcceptStepResult& result) {
  std::string why;
  for (const auto& [reason, cases] : result.why)
    why += fmt::format("{}{} {}: {}", why.empty() ? "" : "; ", cases, cases == 1 ? "case" : "cases",
                       reason.empty() ? "no reason" : reason);
  return why.empty() ? "no case of it ran" : why;
}

void find_gaps(AcceptedDevice& device) {
  for (const AcceptStepResult& result : device.steps) {
    if (result.failed > 0) continue;
    if (result.step->required && !result.proven()) {
      device.gaps.push_back(fmt::format("{}: {}", result.step->name, why_not_proven(result)));
    } else if (result.not_run > 0) {
      device.gaps.push_back(
          fmt::format("{}: {} not run: {}", result.step->name, result.not_run, why_not_proven(result)));
    }
  }
}

void decide(AcceptedDevice& device) {
  std::ranges::stable_sort(device.findings, {},
                           [](const AcceptFinding& finding) { return finding.rule.rank; });
  find_gaps(device);
  device.verdict = !device.findings.empty() ? AcceptVerdict::kRejected
                   : !device.gaps.empty()   ? AcceptVerdict::kIncomplete
                                            : AcceptVerdict::kAccepted;
}

JudgedDevices devices_of(const RunModel& model) {
  JudgedDevices devices;
  for (const PlannedDevice& device : model.plan().devices) {
    devices.emplace(device.id, AcceptedDevice{.id = device.id, .model = device.name, .uuid = device.uuid});
  }
  return devices;
}

}  // namespace

Acceptance judge_acceptance(const RunModel& model, const AcceptQuestion& question) {
  JudgedDevices devices = devices_of(model);
  judge_cases(model, question, devices);
  judge_common_results(model, devices);
  judge_health(model, devices);
  judge_figures(model, question, devices);
  judge_facts(model, question, devices);
  Acceptance acceptance{.level = question.level,
                        .simulated = model.simulated(),
                        .verdict = AcceptVerdict::kAccepted,
                        .devices = {},
                        .left_out = {},
                        .problems = question.problems};
  for (const AcceptStep* step : question.steps.left_out) acceptance.left_out.emplace_back(step->name);
  for (auto& [id, device] : devices) {
    decide(device);
    acceptance.verdict = std::max(acceptance.verdict, device.verdict);
    acceptance.devices.push_back(std::move(device));
  }
  const bool cut_short = !model.ended() || model.stop_signal() != 0;
  if (acceptance.devices.empty() || cut_short)
    acceptance.verdict = std::max(acceptance.verdict, AcceptVerdict::kIncomplete);
  return acceptance;
}

}  // namespace proctor
