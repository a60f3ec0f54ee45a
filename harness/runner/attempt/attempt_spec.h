// What the process of an attempt is given: command, environment, directory, limits, and where its output goes.
#pragma once

#include <string>
#include <vector>

#include "harness/process/process_spec.h"
#include "harness/runner/attempt/attempt_files.h"
#include "harness/runner/attempt/attempt_plan.h"

namespace proctor {

// Without callbacks and room for a core, and for a case with ranks as one rank of it would be started (ranks_of_case.h). Fills in
// AttemptFiles::directory.
ProcessSpec make_spec(const AttemptSetup& setup, const AttemptPlan& plan, AttemptFiles& files);

// Adds the variables that belong to this attempt only.
void add_variables(const AttemptSetup& setup, const AttemptPlan& plan, const AttemptFiles& files,
                   std::vector<std::string>& environment);

// Whether the first limit is on its start-up, until a case says that it begins.
bool has_startup_clock(const AttemptSetup& setup, const AttemptPlan& plan);
ProcessLimits limits_of(const AttemptSetup& setup, const CasePolicy& policy);
// After the `end` event of `test`: until the next case begins, or the process ends.
ProcessLimits limits_after_end(const AttemptSetup& setup, const AttemptPlan& plan, const Case& test);

}  // namespace proctor
