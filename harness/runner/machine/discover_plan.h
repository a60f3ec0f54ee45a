// Makes a plan from the command line, the built-in suites and the configuration. The suites' own programs
// list their cases on this machine.
#pragma once

#include "harness/base/result.h"
#include "harness/plan/planner.h"
#include "harness/runner/machine/machine.h"
#include "harness/runner/machine/plan_options.h"

namespace proctor {

Result<PlanOutcome> discover_plan(const PlanOptions& options, Machine& machine);

}  // namespace proctor
