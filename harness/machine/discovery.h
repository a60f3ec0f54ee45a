// Makes a plan from the command line, the built-in suites and the configuration. The suites' own programs
// list their cases on this machine.
#pragma once

#include "harness/core/result.h"
#include "harness/machine/machine.h"
#include "harness/machine/options.h"
#include "harness/plan/planner.h"

namespace proctor {

Result<PlanOutcome> discover_plan(const PlanOptions& options, Machine& machine);

}  // namespace proctor
