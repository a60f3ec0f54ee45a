// The verdict of `proctor accept` on each device, its reason, and the next step. judge_acceptance.h makes it of a run;
// accept.json keeps it. The console, the page and the summary are made of that file, when the run ends and when its reports
// are rendered again.
//
//   failed      something is wrong with the device, and `action` is the repair; only a later acceptance that passes clears it
//   incomplete  nothing is wrong, but what the level requires was not proven
//   passed      everything that the level requires was proven
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

// The steps by which `proctor accept` judges a device: which cases belong to each, from which level on, and what a pass
// proves. A case belongs to the first step whose glob matches it.

inline constexpr int kLowestAcceptLevel = 1;
inline constexpr int kHighestAcceptLevel = 4;

struct AcceptStep {
  std::string_view name;
  int level;      // the first that has it
  bool required;  // a device on which none of its cases passed does not pass
  int seconds;    // about as long as it takes on a device of 80 GB; of --budget
  std::string_view proves;
  std::string_view cases;     // globs over SUITE/GROUP.NAME, where SUITE has no backend
  double covers_percent = 0;  // the least share of the memory that each of its cases covers
  bool all_devices = false;   // a case of several devices gets all of them: it tries each two
  bool every_case = false;    // a case that a need skips is a gap
};

// In the order in which --budget takes those that are not required: what finds the most in a second comes first.
std::span<const AcceptStep> accept_steps();

// "memory.cuda/Copy.DestinationHasSourceBytes" -> "memory/Copy.DestinationHasSourceBytes".
std::string without_backend(std::string_view case_id);

// Null: it belongs to none.
const AcceptStep* step_of(std::string_view case_id);

// Takes the required steps of this level, and the others whose times fit into the rest of the budget. Without a budget it
// takes all.
struct ChosenSteps {
  std::vector<const AcceptStep*> taken;
  std::vector<const AcceptStep*> left_out;
};
ChosenSteps choose_steps(int level, std::optional<int> budget_s = {});

// The smallest budget of a level: that of its required steps.
int smallest_budget_s(int level);

// The size of the built-in suites at this level.
std::string_view size_of_level(int level);

// What to do with a device that failed: from the least effort to the most.
enum class AcceptAction { kRetest, kFixSoftware, kReset, kReboot, kReseat, kReplace };
inline constexpr std::size_t kAcceptActions = static_cast<std::size_t>(AcceptAction::kReplace) + 1;
std::string_view to_string(AcceptAction action);  // "fix software"

// The action for one failure. Of several failures, the one with the lowest rank is the reason.
struct ActionRule {
  std::size_t rank = 0;
  AcceptAction action = AcceptAction::kRetest;
};

// One thing that is wrong with a device.
struct AcceptFinding {
  std::string step{};
  std::string case_id{};   // "": no case found it
  std::string words{};     // one sentence, without a full stop
  std::string code{};      // the vendor's, "xid:79" or "cudaErrorECCUncorrectable"; "": the report has none
  std::string evidence{};  // a file of the run directory; "": the report itself
  ActionRule rule{};
};

// The result of a step on one device.
enum class StepState { kProven, kFailed, kPartly, kNotTried };
inline constexpr std::size_t kStepStates = static_cast<std::size_t>(StepState::kNotTried) + 1;
std::string_view to_string(StepState state);  // "not tried"

struct AcceptStepResult {
  std::string name{};
  const AcceptStep* step = nullptr;  // null: the result was read from a file, which has name, state and gap
  StepState state = StepState::kNotTried;
  std::string gap{};  // why it is partly proven, or not tried; "" none
  int passed = 0;
  int failed = 0;     // the device is at fault
  int undecided = 0;  // they failed, and another device may be at fault
  int skipped = 0;
  int not_run = 0;
  std::int64_t ms = 0;
  std::map<std::string, int> why_skipped{};  // reason -> cases
  std::map<std::string, int> why_not_run{};
  std::optional<double> covered_percent{};  // the least share of the memory that a case covered, of each tile

  bool any() const { return passed + failed + undecided + skipped + not_run > 0; }
};

// A speed and its bounds.
struct AcceptFigure {
  std::string name{};
  std::string unit{};
  double value = 0;
  std::int64_t n = 0;
  double spread = 0;
  std::optional<double> floor{};  // of --expect
  std::optional<double> best{};   // of the devices of the same model in this run, where it may be compared
  bool low = false;               // below its floor, or more than 10 % below the best

  bool judged() const { return floor || best; }
};

struct AcceptedDevice {
  std::string id{};
  std::string model{};
  std::string uuid{};
  std::string pci{};
  RunVerdict verdict = RunVerdict::kIncomplete;
  std::string action{};  // of a device that failed
  std::string next{};    // what to do with a device that did not pass: a command, or a sentence
  std::vector<AcceptFinding> findings{};  // the reason first
  std::vector<std::string> gaps{};        // why it did not pass although nothing is wrong
  std::vector<AcceptStepResult> steps{};
  std::vector<AcceptFigure> figures{};
  CardFacts before{};  // the load
  CardFacts after{};

  std::string reason() const;
};

struct AcceptReport {
  RunVerdict verdict = RunVerdict::kIncomplete;  // the greatest
  int exit_code = 0;                             // 128 + signal of a run that a signal ended
  int level = 0;
  bool simulated = false;
  std::string run_id{};
  std::string host{};
  std::string command_line{};
  std::int64_t duration_ms = 0;
  std::string run_dir{};
  std::optional<std::string> expected{};  // the file of --expect
  std::vector<std::string> gaps{};        // why the machine is not as expected, whatever its devices are
  std::vector<std::string> left_out{};    // names of steps
  std::vector<std::string> problems{};    // why facts are missing
  std::vector<std::string> not_tried{};   // "memory patterns (level 3)", "the fabric between machines"
  std::vector<AcceptedDevice> devices{};  // those that are missing last

  bool is_stopped() const { return exit_code > 128; }
};

// The text of accept.json (docs/how-to/accept.md).
std::string accept_json(const AcceptReport& report);

// Reads accept.json up to a limit: the file can come from another machine. Keys that are not known are ignored. The error
// names what is missing, and completes "accept.json ...".
Result<AcceptReport> parse_accept_report(std::string_view text);

struct FoundAcceptReport {
  std::optional<AcceptReport> report{};  // none: the run was not one of `proctor accept`
  std::string warning{};                 // one sentence: the file exists, but reports ignore it
};

// The accept.json in the directory of this run. A file that is broken, or that another run wrote, is ignored.
FoundAcceptReport find_accept_report(const std::filesystem::path& run_dir, const ResolvedRun& run);

}  // namespace proctor
