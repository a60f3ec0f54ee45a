// An accept.json as reports show it: the console, the page and the summary of `proctor accept` are made of it, when the run
// ends and when its reports are rendered again. The file can come from another machine: it is read up to a limit, and each
// text in it is only a text. Keys that are not known are ignored.
//
//   const FoundAcceptReport found = find_accept_report(run_dir, model);
//   if (found.report) ...            // the run was one of `proctor accept`
//   if (!found.warning.empty()) ...  // the file exists, but reports ignore it
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/card_facts.h"
#include "harness/core/result.h"
#include "reports/accept/acceptance.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

struct ReportedStep {
  std::string name{};
  StepState state = StepState::kNotTried;
  std::string gap{};  // why it is partly proven or not tried
};

struct ReportedFinding {
  std::string words{};
  std::string case_id{};
  std::string evidence{};  // a file of the run directory
};

struct ReportedDevice {
  std::string id{};
  std::string model{};
  std::string uuid{};
  std::string pci{};
  AcceptVerdict verdict = AcceptVerdict::kIncomplete;
  std::string action{};  // of a rejected device
  std::string next{};
  std::vector<ReportedFinding> findings{};  // the reason first
  std::vector<std::string> gaps{};
  std::vector<ReportedStep> steps{};
  std::vector<AcceptFigure> figures{};
  CardFacts before{};  // the load
  CardFacts after{};

  std::string reason() const;
};

struct AcceptReport {
  AcceptVerdict verdict = AcceptVerdict::kIncomplete;
  int exit_code = 0;
  int level = 0;
  bool simulated = false;
  std::string run_id{};
  std::string host{};
  std::string command_line{};
  std::int64_t duration_ms = 0;
  std::vector<std::string> gaps{};  // of the machine: no device has them
  std::vector<std::string> left_out{};
  std::vector<std::string> problems{};
  std::vector<std::string> not_tried{};
  std::vector<ReportedDevice> devices{};

  bool is_stopped() const { return exit_code > 128; }
};

// The error names what is missing, and completes "accept.json ...".
Result<AcceptReport> parse_accept_report(std::string_view text);

struct FoundAcceptReport {
  std::optional<AcceptReport> report{};
  std::string warning{};  // one sentence
};

// The accept.json in the directory of this run. A file that is broken, or that another run wrote, is ignored.
FoundAcceptReport find_accept_report(const std::filesystem::path& run_dir, const ResolvedRun& run);

// ---- Words and signs that all reports share ----

// "Reject 1 of 4 GPUs: replace cuda-sim:2", "Accepted: 4 of 4 GPUs", "Incomplete: 2 of 4 GPUs: cuda-sim:1, cuda-sim:3".
std::string accept_headline(const AcceptReport& report);
// "rejected", "interrupted by SIGINT".
std::string exit_words(const AcceptReport& report);

// ✓ ✗ ~ ·, which to_string(state) has in words.
std::string_view sign_of(StepState state);
inline constexpr std::string_view kNoSign = " ";  // the device does not have the step

// The steps of all devices, in their order.
std::vector<std::string> step_names(const AcceptReport& report);
const ReportedStep* find_step(const ReportedDevice& device, const std::string& name);

// Steps of accepted devices that are partly proven or not tried: "links: 1 case: needs:devices>=2 (cuda-sim:0)".
std::vector<std::string> open_steps(const AcceptReport& report);
// Speeds that no bound judges, by the reason: "not compared, because simulated speeds are those of the host: memory.ceiling".
std::vector<std::string> speeds_without_bound(const AcceptReport& report);

// A fact of the management library that the load changed.
struct ChangedFact {
  std::string name{};
  std::string before{};
  std::string after{};
};
std::vector<ChangedFact> changed_facts(const ReportedDevice& device);

// The figures of the devices of one model with a common scale. Figures of one name have one unit.
struct FigureRow {
  std::string name{};
  std::string unit{};
  double most = 0;  // the end of the scale
  std::optional<double> floor{};
  std::optional<double> best{};
  std::vector<const AcceptFigure*> values{};  // of each device of the model; null: it has none
};
struct ModelFigures {
  std::string model{};
  std::vector<const ReportedDevice*> devices{};
  std::vector<FigureRow> rows{};
};
std::vector<ModelFigures> figures_by_model(const AcceptReport& report);

}  // namespace proctor
