// `exec` plans one command, which starts as the user typed it.
#pragma once

#include "harness/base/result.h"
#include "harness/runner/checked.h"
#include "harness/runner/plan_step.h"

namespace proctor::runner {

// Refuses what a command cannot have, and reads how its readiness is recognised.
Result<void> check_exec(Checked& checked);
Result<FoundPlan> plan_of_command(const Checked& checked);

}  // namespace proctor::runner
