#include "reports/accept/judge_acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/base/number_text.h"
#include "harness/base/text.h"

namespace proctor {
namespace {

// Returns "12 cases: needs:devices>=2".
std::string reasons_text(const std::map<std::string, int>& reasons) {
  std::string why;
  for (const auto& [reason, cases] : reasons)
    why += fmt::format("{}{} {}: {}", why.empty() ? "" : "; ", cases, cases == 1 ? "case" : "cases",
                       reason.empty() ? "no reason" : reason);
  return why.empty() ? "no case of it ran" : why;
}

// Returns why the step does not prove its property; "" if it does.
std::string gap_of(const AcceptStepResult& result) {
  const AcceptStep& step = *result.step;
  if (result.undecided > 0) return "a failure that counts against no single device";
  if (result.not_run > 0) return "not run: " + reasons_text(result.why_not_run);
  if (result.passed == 0) return reasons_text(result.why_skipped);
  if (step.every_case) {
    for (const auto& [reason, cases] : result.why_skipped) {
      const bool lacks_feature =
          reason.starts_with("unsupported:") || reason.starts_with("not_on_simulator:");
      if (!lacks_feature)
        return fmt::format("{} skipped: {}", count_text(static_cast<std::size_t>(cases), "case"), reason);
    }
  }
  if (step.covers_percent > 0 && result.covered_percent.value_or(0) < step.covers_percent) {
    return fmt::format("{:.3g} % of the free memory was covered, and {:.3g} % is required",
                       result.covered_percent.value_or(0), step.covers_percent);
  }
  return {};
}

StepState state_of(const AcceptStepResult& result) {
  if (result.failed > 0) return StepState::kFailed;
  if (result.gap.empty()) return StepState::kProven;
  return result.passed > 0 || result.undecided > 0 ? StepState::kPartly : StepState::kNotTried;
}

// Removes optional steps that have no case of this backend, and computes the state and gap of the others.
void find_gaps(AcceptedDevice& device) {
  std::erase_if(device.steps,
                [](const AcceptStepResult& result) { return !result.step->required && !result.any(); });
  for (AcceptStepResult& result : device.steps) {
    result.gap = gap_of(result);
    result.state = state_of(result);
    const bool may_be_skipped =
        !result.step->required && result.state == StepState::kNotTried && result.not_run == 0;
    if (result.gap.empty() || result.state == StepState::kFailed || result.undecided > 0 || may_be_skipped)
      continue;
    device.gaps.push_back(fmt::format("{}: {}", result.name, result.gap));
  }
}

void decide(AcceptedDevice& device, const AcceptQuestion& question, bool simulated) {
  std::ranges::stable_sort(device.findings, {},
                           [](const AcceptFinding& finding) { return finding.rule.rank; });
  find_gaps(device);
  device.verdict = !device.findings.empty() ? RunVerdict::kFailed
                   : !device.gaps.empty()   ? RunVerdict::kIncomplete
                                            : RunVerdict::kPassed;
  if (!device.findings.empty()) device.action = to_string(device.findings.front().rule.action);
  const bool is_here = !device.steps.empty();
  const bool is_too_large =
      simulated && std::ranges::any_of(device.steps, [](const AcceptStepResult& result) {
        return !result.gap.empty() && result.covered_percent;
      });
  if (is_too_large && device.next.empty())
    device.next = "give the simulated devices less memory, for example --sim cuda:4:mem=1GiB";
  if (device.verdict != RunVerdict::kPassed && device.next.empty() && is_here && !question.again.empty())
    device.next = fmt::format("{} --devices {}", question.again, device.id);
}

std::vector<std::string> steps_above(int level) {
  std::vector<std::string> names;
  for (const AcceptStep& step : accept_steps()) {
    if (step.level > level) names.push_back(fmt::format("{} (level {})", step.name, step.level));
  }
  names.emplace_back("the fabric between machines");
  return names;
}

CardFacts facts_of(const FactsOfCards& cards, const std::string& id) {
  const auto card = cards.find(id);
  return card == cards.end() ? CardFacts() : card->second;
}

JudgedDevices devices_of(const ResolvedRun& run, const AcceptQuestion& question) {
  JudgedDevices devices;
  for (const PlannedDevice& device : run.plan.devices)
    devices.emplace(device.id, AcceptedDevice{.id = device.id,
                                              .model = device.name,
                                              .uuid = device.uuid,
                                              .pci = device.pci,
                                              .before = facts_of(question.before, device.id),
                                              .after = facts_of(question.after, device.id)});
  return devices;
}

// Returns the ids of the devices in the order of the plan. Missing devices come last.
std::vector<std::string> in_order(const ResolvedRun& run, const JudgedDevices& devices) {
  std::vector<std::string> ids;
  for (const PlannedDevice& device : run.plan.devices) ids.push_back(device.id);
  for (const auto& [id, device] : devices) {
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

// ---- The action ----

// The action for failures of the cases that match the glob.
struct Rule {
  std::string_view glob;
  std::optional<Outcome> outcome;  // nothing: any outcome
  AcceptAction action;
};

// The most specific rules come first. An error that the management library counted explains the wrong bytes of a copy,
// and a link that is down explains slow pairs. Sources of the actions: NVIDIA GPU Memory Error Management (a pending
// remap needs a reset, a failed one a replacement); Level Zero specification, zes_mem_health_t.
constexpr auto kRules = std::to_array<Rule>({
    {"*", Outcome::kDeviceLost, AcceptAction::kReset},
    {"management/RowRemap.NoRemapHasFailed", {}, AcceptAction::kReplace},
    {"management/MemoryHealth.EveryModuleIsHealthy", {}, AcceptAction::kReplace},
    {"management/RowRemap.NoRemapIsPending", {}, AcceptAction::kReset},
    {"management/DeviceState.WorkingCardNeedsNoReset", {}, AcceptAction::kReset},
    {"management/ErrorCounter.LoadCausesNoUncorrectedError", {}, AcceptAction::kReset},
    {"management/ErrorCounter.LoadCausesFewCorrectedErrors", {}, AcceptAction::kReplace},
    {"management/*Link.*", {}, AcceptAction::kReseat},
    {"management/Clock.LoadCausesNoThrottling", {}, AcceptAction::kReseat},
    {"management/Sensor.TemperatureStaysBelowLimit", {}, AcceptAction::kReseat},
    {"management/Inventory.*", {}, AcceptAction::kFixSoftware},
    {"kernels/Cores.*", Outcome::kFail, AcceptAction::kReplace},
    {"memory/Contents.MostMemoryKeepsPattern*", Outcome::kFail, AcceptAction::kReplace},
    {"kernels/Training.*", Outcome::kFail, AcceptAction::kReplace},
    {"*", Outcome::kTimeout, AcceptAction::kReset},
    {"*", Outcome::kStall, AcceptAction::kReset},
    {"memory/PeerLink.*", {}, AcceptAction::kReseat},
    {"management/*", {}, AcceptAction::kReset},
    {"visibility/*", {}, AcceptAction::kFixSoftware},
    {"*/InvalidArgument.*", {}, AcceptAction::kFixSoftware},
    {"*", Outcome::kCrash, AcceptAction::kFixSoftware},
    {"memory/*", Outcome::kFail, AcceptAction::kReplace},
    {"kernels/*", Outcome::kFail, AcceptAction::kReplace},
});

}  // namespace

ActionRule action_for(std::string_view name, Outcome outcome) {
  for (std::size_t rank = 0; rank < kRules.size(); ++rank) {
    const Rule& rule = kRules[rank];
    const bool same = !rule.outcome || *rule.outcome == outcome;
    if (same && glob_match(rule.glob, name)) return {.rank = rank, .action = rule.action};
  }
  return {.rank = kRules.size(), .action = AcceptAction::kRetest};
}

AcceptReport judge_acceptance(const ResolvedRun& run, const AcceptQuestion& question) {
  JudgedDevices devices = devices_of(run, question);
  judge_health(run, devices);
  judge_cases(run, question, devices);
  judge_figures(run, question, devices);
  AcceptReport report{.verdict = RunVerdict::kPassed,
                      .level = question.level,
                      .simulated = run.simulated,
                      .run_id = run.plan.run_id,
                      .host = run.plan.hostname,
                      .command_line = question.command_line,
                      .duration_ms = run.elapsed_ms,
                      .run_dir = question.run_dir,
                      .gaps = judge_facts(question, devices),
                      .problems = question.problems,
                      .not_tried = steps_above(question.level)};
  if (question.expected) report.expected = question.expected->file;
  for (const AcceptStep* step : question.steps.left_out) report.left_out.emplace_back(step->name);
  for (const std::string& id : in_order(run, devices)) {
    AcceptedDevice& device = devices.at(id);
    decide(device, question, run.simulated);
    report.verdict = std::max(report.verdict, device.verdict);
    report.devices.push_back(std::move(device));
  }
  const bool cut_short = !run.ended || run.stop_signal != 0;
  if (report.devices.empty() || !report.gaps.empty())
    report.verdict = std::max(report.verdict, RunVerdict::kIncomplete);
  if (cut_short) report.verdict = std::max(report.verdict, RunVerdict::kInterrupted);
  report.exit_code = run.ending_signal != 0 ? 128 + run.ending_signal : exit_code_of(report.verdict);
  return report;
}

}  // namespace proctor
