// The plan of `accept`: cases of the built-in suites that judge the devices of this machine.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/request/run_request.h"
#include "harness/runner/checked.h"
#include "harness/runner/display.h"
#include "harness/runner/found_plan.h"
#include "reports/accept/accept_report.h"

namespace proctor::runner {

int accept_level_of(const AcceptRequest& accept);
// The steps that the level has, and that fit the budget.
ChosenSteps steps_of(const AcceptRequest& accept);

// The words with which `accept` repeats this acceptance; `--devices` may follow.
std::vector<std::string> words_of_acceptance(const RunRequest& request);

// Returns the request with the options of `run` for which the level stands.
RunRequest with_level(RunRequest request);
// Refuses contradictions, and reads the expected machine.
Result<void> check_acceptance(Checked& checked);
Result<FoundPlan> plan_of_acceptance(const Checked& checked, RunDisplay& display);

}  // namespace proctor::runner
