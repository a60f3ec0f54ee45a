// The verdict of `proctor accept` on each device, its reason, and the next step.
//
//   rejected    something is wrong with the device, and `action` is the repair; only a later run that accepts it clears it
//   incomplete  nothing is wrong, but what the level requires was not proven
//   accepted    everything that the level requires was proven
//
// A case that fails on one device counts against that device. A case of several devices counts against the only one that
// its other runs do not clear (attribution.h). If no run clears one of them, all of them are incomplete. A case that fails
// on all devices counts against the software. No failure is dropped.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/card_facts.h"
#include "reports/accept/accept_action.h"
#include "reports/accept/accept_steps.h"
#include "reports/accept/expected_machine.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

enum class AcceptVerdict { kAccepted, kIncomplete, kRejected };
std::string_view to_string(AcceptVerdict verdict);
int exit_code(AcceptVerdict verdict);  // 0, 3, 1 (docs/reference/outcomes.md)

// One thing that is wrong with a device.
struct AcceptFinding {
  std::string step;
  std::string case_id;   // "": no case found it
  std::string words;     // one sentence, without a full stop
  std::string code;      // the vendor's, "xid:79" or "cudaErrorECCUncorrectable"; "": the report has none
  std::string evidence;  // a file of the run directory; "": the report itself
  ActionRule rule;
};

// The result of a step on one device.
enum class StepState { kProven, kFailed, kPartly, kNotTried };
inline constexpr std::size_t kStepStates = static_cast<std::size_t>(StepState::kNotTried) + 1;
std::string_view to_string(StepState state);  // "not tried"

struct AcceptStepResult {
  const AcceptStep* step = nullptr;
  int passed = 0;
  int failed = 0;     // the device is at fault
  int undecided = 0;  // they failed, and another device may be at fault
  int skipped = 0;
  int not_run = 0;
  std::int64_t ms = 0;
  std::map<std::string, int> why_skipped{};  // reason -> cases
  std::map<std::string, int> why_not_run{};
  std::optional<double> covered_percent{};  // the least share of the memory that a case covered, of each tile
  StepState state = StepState::kNotTried;
  std::string gap{};  // why it is partly proven, or not tried; "" none

  bool any() const { return passed + failed + undecided + skipped + not_run > 0; }
};

// A speed and its bounds.
struct AcceptFigure {
  std::string name;
  std::string unit;
  double value = 0;
  std::int64_t n = 0;
  double spread = 0;
  std::optional<double> floor;  // of --expect
  std::optional<double> best;   // of the devices of the same model in this run, where it may be compared
  bool low = false;             // below its floor, or more than 10 % below the best
  bool judged() const { return floor || best; }
};

struct AcceptedDevice {
  std::string id;
  std::string model;
  std::string uuid;
  std::string pci{};
  AcceptVerdict verdict = AcceptVerdict::kAccepted;
  std::string next{};  // what to do with a device that is not accepted: a command, or a sentence
  std::vector<AcceptFinding> findings{};  // the reason first
  std::vector<std::string> gaps{};        // why it is not accepted although nothing is wrong
  std::vector<AcceptStepResult> steps{};
  std::vector<AcceptFigure> figures{};

  std::string reason() const;
};

// The input of the judgement besides the run.
struct AcceptQuestion {
  int level = 2;
  ChosenSteps steps;
  std::optional<ExpectedMachine> expected{};
  FactsOfCards before{};
  FactsOfCards after{};
  std::vector<std::string> problems{};  // why facts are missing
  std::string again{};                  // the command of the next acceptance; --devices may follow
};

struct Acceptance {
  int level = 2;
  bool simulated = false;
  AcceptVerdict verdict = AcceptVerdict::kAccepted;  // the worst one
  std::vector<AcceptedDevice> devices;               // those that are missing last
  std::vector<std::string> gaps;      // why the machine is not as expected, whatever its devices are
  std::vector<std::string> left_out;  // names of steps
  std::vector<std::string> problems;
  std::string run_id{};
  std::string host{};
  std::string command_line{};
  std::int64_t duration_ms = 0;
  int stop_signal = 0;                   // ended the run; 0: none
  std::vector<std::string> not_tried{};  // "memory patterns (level 3)", "the fabric between machines"
};
int exit_code(const Acceptance& acceptance);  // 128 + signal of a run that a signal ended

}  // namespace proctor
