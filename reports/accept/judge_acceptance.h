// The judgement of a run of `proctor accept`.
//
// A case that fails on one device counts against that device. A case of several devices counts against the only one that
// its other runs do not clear (attribution.h). If no run clears one of them, all of them are incomplete. A case that fails
// on all devices counts against the software. No failure is dropped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/accept/accept_report.h"
#include "reports/accept/expected_machine.h"

namespace proctor {

// The input of the judgement besides the run.
struct AcceptQuestion {
  int level = 2;
  ChosenSteps steps;
  std::optional<ExpectedMachine> expected{};
  FactsOfCards before{};
  FactsOfCards after{};
  std::vector<std::string> problems{};  // why facts are missing
  std::string again{};                  // the command of the next acceptance; --devices may follow
  std::string command_line{};
  std::string run_dir{};
};

AcceptReport judge_acceptance(const ResolvedRun& run, const AcceptQuestion& question);

}  // namespace proctor
