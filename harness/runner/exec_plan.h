// The parts of a run that only `proctor exec` has: it plans one command, which starts exactly as typed. The steps of
// run.cc call them.
#pragma once

#include "harness/base/result.h"
#include "harness/runner/checked.h"
#include "harness/runner/plan_step.h"

namespace proctor::runner {

// Refuses a missing command and too many inherited descriptors. Reads the rule that recognises readiness.
Result<void> check_exec(Checked& checked);
// Returns a plan with one case, the command.
Result<FoundPlan> plan_of_command(const Checked& checked);

}  // namespace proctor::runner
