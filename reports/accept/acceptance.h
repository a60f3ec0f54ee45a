// Whether each device of a run is good: the verdict of `proctor accept`, its reason and what to do next.
//
//   rejected    something is wrong with the device, and `action` says what to do; only a later run that accepts it clears it
//   incomplete  nothing is wrong, but what the level requires was not proven
//   accepted    everything that the level requires was proven
//
// What happened on the device itself decides first. A case with several devices counts against the only one of them that
// failed alone as well, or that its failures name; without one, all are incomplete. A case that fails on all devices says
// that the software is wrong.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/card_facts.h"
#include "reports/accept/accept_action.h"
#include "reports/accept/accept_steps.h"
#include "reports/accept/expected_machine.h"
#include "reports/model/run_model.h"

namespace proctor {

enum class AcceptVerdict { kAccepted, kIncomplete, kRejected };
std::string_view to_string(AcceptVerdict verdict);
int exit_code(AcceptVerdict verdict);  // 0, 3, 1 (docs/reference/outcomes.md)

// One thing that is wrong with a device.
struct AcceptFinding {
  std::string step;
  std::string case_id;   // "": no case found it
  std::string words;     // one sentence, without a full stop
  std::string code;      // the vendor's, "xid:79" or "cudaErrorECCUncorrectable"; "": none was told
  std::string evidence;  // a file of the run directory; "": the report itself
  ActionRule rule;
};

struct AcceptStepResult {
  const AcceptStep* step = nullptr;
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  int not_run = 0;
  std::int64_t ms = 0;
  std::map<std::string, int> why{};  // of the skipped and of those not run: reason -> cases

  bool proven() const { return passed > 0 && failed == 0; }
};

// A speed beside what it is compared with.
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
  AcceptVerdict verdict = AcceptVerdict::kAccepted;
  std::vector<AcceptFinding> findings{};  // the reason first
  std::vector<std::string> gaps{};        // why it is not accepted although nothing is wrong
  std::vector<AcceptStepResult> steps{};
  std::vector<AcceptFigure> figures{};

  std::string reason() const;
};

// What is judged besides the run.
struct AcceptQuestion {
  int level = 2;
  ChosenSteps steps;
  std::optional<ExpectedMachine> expected{};
  FactsOfCards before{};
  FactsOfCards after{};
  std::vector<std::string> problems{};  // why facts are missing
};

struct Acceptance {
  int level = 2;
  bool simulated = false;
  AcceptVerdict verdict = AcceptVerdict::kAccepted;  // the worst one
  std::vector<AcceptedDevice> devices;               // those that are missing last
  std::vector<std::string> left_out;                 // names of steps
  std::vector<std::string> problems;
};

}  // namespace proctor
