// The verdict of `proctor accept` on each device, with its reason and the next step. judge_acceptance.h computes it
// from a run, and accept.json stores it. Console, page and summary are functions of that file, both at the end of the
// run and when its reports are rendered again.
//
//   failed      the device has a fault, and `action` is the repair; only a later acceptance that passes clears it
//   incomplete  no fault was found, but a requirement of the level was not proven
//   passed      every requirement of the level was proven
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/machine_facts.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// The steps by which `proctor accept` judges a device. A step has its cases, its lowest level, and the property that a
// pass proves. A case belongs to the first step whose glob matches it.

inline constexpr int kLowestAcceptLevel = 1;
inline constexpr int kHighestAcceptLevel = 4;

// One step of an acceptance.
struct AcceptStep {
  std::string_view name;
  int level;      // the lowest level that includes the step
  bool required;  // a device passes only if at least one case of the step passed on it
  int seconds;    // approximate duration on a device with 80 GB, which counts against --budget
  std::string_view proves;
  std::string_view cases;     // globs over SUITE/GROUP.NAME, where SUITE has no backend
  double covers_percent = 0;  // the minimum share of the memory that each of its cases must cover
  bool all_devices = false;   // a case with several devices gets all devices, and tries each pair
  bool every_case = false;    // a case that is skipped because of a requirement is a gap
};

// The steps in the order in which --budget adds optional steps: the step that finds the most
// faults per second comes first.
std::span<const AcceptStep> accept_steps();

// Returns "memory/Copy.DestinationHasSourceBytes" for "memory.cuda/Copy.DestinationHasSourceBytes".
std::string without_backend(std::string_view case_id);

// Returns null if the case belongs to no step.
const AcceptStep* step_of(std::string_view case_id);

// Selects the required steps of this level, and those optional steps that fit into the remaining budget. Without a
// budget it selects all steps.
struct ChosenSteps {
  std::vector<const AcceptStep*> taken;
  std::vector<const AcceptStep*> left_out;
};
ChosenSteps choose_steps(int level, std::optional<int> budget_s = {});

// Returns the smallest budget of a level, which is the duration of its required steps.
int smallest_budget_s(int level);

// The size of the built-in suites at this level.
std::string_view size_of_level(int level);

// The repair of a failed device, from the least effort to the most.
enum class AcceptAction { kRetest, kFixSoftware, kReset, kReboot, kReseat, kReplace };
inline constexpr std::size_t kAcceptActions = static_cast<std::size_t>(AcceptAction::kReplace) + 1;
std::string_view to_string(AcceptAction action);  // "fix software"

// The action for one failure. Of several failures, the one with the lowest rank is the reason of the verdict.
struct ActionRule {
  std::size_t rank = 0;
  AcceptAction action = AcceptAction::kRetest;
};

// One fault of a device.
struct AcceptFinding {
  std::string step{};
  std::string case_id{};  // "" if the runner found it without a case
  std::string words{};    // one sentence, without a full stop
  std::string
      code{};  // the error of the vendor, "xid:79" or "cudaErrorECCUncorrectable"; "" if the report has none
  std::string evidence{};  // a file in the run directory; "" if the report itself is the evidence
  ActionRule rule{};
};

// The result of a step on one device.
enum class StepState { kProven, kFailed, kPartly, kNotTried };
inline constexpr std::size_t kStepStates = static_cast<std::size_t>(StepState::kNotTried) + 1;
std::string_view to_string(StepState state);  // "not tried"

// The cases of a step on one device, and the state that follows.
struct AcceptStepResult {
  std::string name{};
  const AcceptStep* step =
      nullptr;  // null if the result was read from a file, which has only name, state and gap
  StepState state = StepState::kNotTried;
  std::string gap{};  // why the step is partly proven or was not tried; "" if it has no gap
  int passed = 0;
  int failed = 0;     // cases that failed because of this device
  int undecided = 0;  // cases that failed and may have failed because of another device
  int skipped = 0;
  int not_run = 0;
  std::int64_t ms = 0;
  std::map<std::string, int> why_skipped{};  // number of cases by reason
  std::map<std::string, int> why_not_run{};
  std::optional<double> covered_percent{};  // the smallest share of the memory of a tile that a case covered

  bool any() const { return passed + failed + undecided + skipped + not_run > 0; }
};

// A measured speed with its limits.
struct AcceptFigure {
  std::string name{};
  std::string unit{};
  double value = 0;
  std::int64_t n = 0;
  double spread = 0;
  std::optional<double> floor{};  // the limit from --expect
  std::optional<double> best{};  // the best device of the same model in this run; only for comparable figures
  bool low = false;              // below its floor, or more than 10 % below the best

  bool judged() const { return floor || best; }
};

// The acceptance of one device.
struct AcceptedDevice {
  std::string id{};
  std::string model{};
  std::string uuid{};
  std::string pci{};
  RunVerdict verdict = RunVerdict::kIncomplete;
  std::string action{};  // only for a device that failed
  std::string next{};    // the next step for a device that did not pass: a command or a sentence
  std::vector<AcceptFinding> findings{};  // the first one is the reason
  std::vector<std::string> gaps{};        // why a device without a fault did not pass
  std::vector<AcceptStepResult> steps{};
  std::vector<AcceptFigure> figures{};
  CardFacts before{};  // facts of the device before the load
  CardFacts after{};

  std::string reason() const;
};

// The content of accept.json.
struct AcceptReport {
  RunVerdict verdict = RunVerdict::kIncomplete;  // the most severe verdict of its devices and of the machine
  int exit_code = 0;                             // 128 + signal if a signal ended the run
  int level = 0;
  bool simulated = false;
  std::string run_id{};
  std::string host{};
  std::string command_line{};
  std::int64_t duration_ms = 0;
  std::string run_dir{};
  std::optional<std::string> expected{};  // the file of --expect
  std::vector<std::string> gaps{};  // why the machine differs from --expect, independent of single devices
  std::vector<std::string> left_out{};    // names of steps
  std::vector<std::string> problems{};    // why facts are missing
  std::vector<std::string> not_tried{};   // "memory patterns (level 3)", "the fabric between machines"
  std::vector<AcceptedDevice> devices{};  // missing devices come last

  bool is_stopped() const { return exit_code > 128; }
};

// Returns the text of accept.json (docs/how-to/accept.md).
std::string accept_json(const AcceptReport& report);

// Reads accept.json with a size limit, because the file may come from another machine. Unknown keys are ignored. The
// error names the missing member, and completes "accept.json ...".
Result<AcceptReport> parse_accept_report(std::string_view text);

// The acceptance in a run directory, or why its file is ignored.
struct FoundAcceptReport {
  std::optional<AcceptReport> report{};  // nothing if the run was not one of `proctor accept`
  std::string warning{};                 // one sentence, if the file exists but is ignored
};

// Reads the accept.json in the directory of this run. A file that is not valid, or that
// belongs to another run, is ignored.
FoundAcceptReport find_accept_report(const std::filesystem::path& run_dir, const ResolvedRun& run);

}  // namespace proctor
