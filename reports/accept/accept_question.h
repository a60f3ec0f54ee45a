// What a judgement needs besides the run: the steps, the expectation and the facts of the cards.
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

}  // namespace proctor
