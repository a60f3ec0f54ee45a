// From the command line to a plan: built-in suites and configuration; the suites' own programs list their
// cases on this machine.
#pragma once

#include "harness/core/result.h"
#include "harness/machine/machine.h"
#include "harness/machine/options.h"
#include "harness/plan/planner.h"

namespace proctor {

Result<PlanOutcome> discover_plan(const PlanOptions& options, Machine& machine);

}  // namespace proctor
