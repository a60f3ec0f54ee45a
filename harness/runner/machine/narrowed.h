// Which variables of the caller, or of a suite, decide what the suite's processes run and how they judge
// (harness/base/narrowing_variables.h): of those that its processes have indeed, and that neither we nor a simulation set.
#pragma once

#include <string>
#include <vector>

#include "harness/devices/environment.h"
#include "harness/journal/events.h"
#include "harness/plan/plan.h"

namespace proctor {

// `child`: NAME=VALUE, all that a process of `suite` has. `our_python_path`: what stands before the PYTHONPATH of a suite
// of pytest.
std::vector<NarrowingVariable> narrowing_variables(const Suite& suite, const Environment& caller,
                                                   const std::vector<std::string>& child,
                                                   const std::string& our_python_path);

// Lines for the head of the console, one for each variable.
std::vector<std::string> describe_narrowing(const std::vector<NarrowingVariable>& variables);

}  // namespace proctor
