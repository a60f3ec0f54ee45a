#include "reports/model/run_problems.h"

#include <fmt/core.h>

#include <algorithm>

#include "harness/core/count_text.h"
#include "harness/core/exit_code.h"
#include "harness/core/text.h"
#include "reports/model/device_table.h"
#include "reports/model/device_verdict.h"
#include "reports/model/exit_code.h"
#include "reports/model/failure_summary.h"
#include "reports/model/truncate.h"

namespace proctor {
namespace {

constexpr std::size_t kMostNamed = 20;
constexpr std::size_t kNameBytes = 200;

// The cases that `is_meant` chooses, one a line.
template <typename IsMeant>
std::string named(const RunModel& model, IsMeant is_meant) {
  std::string text;
  std::size_t count = 0;
  for (const CaseRecord& record : model.cases()) {
    if (!is_meant(record)) continue;
    if (++count > kMostNamed) continue;
    text += "\n" + one_line(clean_text(record.planned.id), kNameBytes);
    if (is_good_elsewhere(model, record)) text += ": " + headline(model, record);
  }
  if (count > kMostNamed) text += fmt::format("\nand {} more", count - kMostNamed);
  return text;
}

void add_shortage(const RunModel& model, std::vector<RunProblem>& problems) {
  if (const auto text = no_device_text(model.plan()); !text.empty() && !model.plan().allow_no_device)
    problems.push_back({"no_device", "No device", text + "."});
  for (const std::string& sentence : open_skips(model))
    problems.push_back({"skipped", "Skipped tests", sentence + "."});
  const int executed = model.summary().executed();
  const int wanted = least_executed(model);
  if (!model.plan().exec && executed < wanted) {
    problems.push_back({"min_executed", "Too little was executed",
                        fmt::format("{} of {} planned cases were executed, at least {} wanted.", executed,
                                    model.summary().planned(), wanted)});
  }
}

void add_chance(const RunModel& model, std::vector<RunProblem>& problems) {
  const FlakyCases flaky = flaky_cases(model);
  if (flaky.allowed) return;
  problems.push_back(
      {std::string(kFlakyProblem), "Flaky cases",
       fmt::format(
           "{} failed and then passed, more than the policy of the run allows. {} allows them:{}",
           count_text(flaky.count, "case"), option_that_allows(model, flaky),
           named(model, [&](const CaseRecord& record) { return model.has_mark(record, Mark::kFlaky); }))});
}

void add_machine(const RunModel& model, std::vector<RunProblem>& problems) {
  const auto suspect = [&](const CaseRecord& record) { return is_good_elsewhere(model, record); };
  const bool not_tried = std::ranges::any_of(
      model.cases(), [&](const CaseRecord& record) { return !devices_not_tried(model, record).empty(); });
  if (not_tried || std::ranges::any_of(model.cases(), suspect)) {
    const auto devices = device_verdict(model, "RUN_DIR");
    const std::string what =
        devices ? devices->sentence : "Cases failed on one device and passed on another.";
    problems.push_back({std::string(kDeviceProblem), "Suspect device", what + named(model, suspect)});
  }
  for (const Warning& warning : model.warnings()) {
    if (warning.code == WarningCode::kDeviceShortage)
      problems.push_back({"no_device", "No device", warning.text});
    if (warning.code == WarningCode::kDeviceAccess)
      problems.push_back({"device_access", "Devices cannot be reached", warning.text});
    if (warning.code == WarningCode::kStackChanged)
      problems.push_back({"stack_changed", "The driver stack changed", warning.text});
    if (warning.code == WarningCode::kMaskMismatch)
      problems.push_back({"mask_mismatch", "Other devices than those leased", warning.text});
    if (warning.code == WarningCode::kPartRefused)
      problems.push_back({"part_refused", "A part was refused", warning.text});
    if (warning.code == WarningCode::kPartIncomplete)
      problems.push_back({"part_incomplete", "A part is incomplete", warning.text});
    if (warning.code == WarningCode::kReportLost)
      problems.push_back({"report_lost", "A report is missing", warning.text});
    if (warning.code == WarningCode::kJournalChanged)
      problems.push_back({"journal_changed", "The journal was changed", warning.text});
  }
  const auto unkillable = [](const CaseRecord& record) {
    return std::any_of(record.attempts.begin(), record.attempts.end(), [](const Attempt& attempt) {
      return attempt.end && attempt.end->termination.unreapable;
    });
  };
  if (std::any_of(model.cases().begin(), model.cases().end(), unkillable)) {
    problems.push_back({"unkillable", "A process could not be killed",
                        "A process of these cases did not die:" + named(model, unkillable)});
  }
}

}  // namespace

RunProblem interruption(const RunModel& model) {
  return {
      "interrupted", "The run was interrupted",
      fmt::format("{}; {} of {} cases have no result.",
                  model.stop() ? "It was stopped: " + model.stop()->reason.text() : "Its runner was killed",
                  model.summary()[Outcome::kNotrun], model.summary().planned())};
}

std::vector<RunProblem> run_problems(const RunModel& model) {
  const int code = shell_exit_code(model);
  std::vector<RunProblem> problems;
  if (code != kExitGreen && run_verdict(model) == "interrupted") problems.push_back(interruption(model));
  add_shortage(model, problems);
  add_chance(model, problems);
  add_machine(model, problems);
  const bool bad_case = std::any_of(model.cases().begin(), model.cases().end(),
                                    [&](const CaseRecord& record) { return model.is_bad(record); });
  if (problems.empty() && !bad_case && code != kExitGreen) {
    problems.push_back({std::string(kUnexplained), fmt::format("Exit code {}", code),
                        "No case of its own explains it: see the warnings and the job summary."});
  }
  return problems;
}

}  // namespace proctor
