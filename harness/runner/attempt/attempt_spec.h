// Makes the ProcessSpec of an attempt: command, environment, directory, limits, and the destinations of its output.
#pragma once

#include <string>
#include <vector>

#include "harness/process/process_spec.h"
#include "harness/runner/attempt/attempt_files.h"
#include "harness/runner/attempt/attempt_plan.h"

namespace proctor {

// Returns the spec without callbacks and without a core limit. For a case with ranks it is the spec of one rank
// (ranks_of_case.h). Sets AttemptFiles::directory.
ProcessSpec make_spec(const AttemptSetup& setup, const AttemptPlan& plan, AttemptFiles& files);

// Adds the variables that belong to this attempt only.
void add_variables(const AttemptSetup& setup, const AttemptPlan& plan, const AttemptFiles& files,
                   std::vector<std::string>& environment);

// Returns whether the first limit applies to the start of the process, until a case reports its begin.
bool has_startup_clock(const AttemptSetup& setup, const AttemptPlan& plan);
// Returns the limits of a case.
ProcessLimits limits_of(const AttemptSetup& setup, const CasePolicy& policy);
// Returns the limits after the `end` event of `test`, until the next case begins or the process ends.
ProcessLimits limits_after_end(const AttemptSetup& setup, const AttemptPlan& plan, const Case& test);

}  // namespace proctor
