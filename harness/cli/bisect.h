// Implements `proctor rerun --bisect CASE`. It finds the earlier cases of the same process that change the outcome of a
// case. Each try is a `proctor run` with one process, and its journal contains the outcome.
#pragma once

#include <string>

#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

// Prints the cases. Returns the exit code: 0 if there are any; 1 if there are none, or if the case is flaky.
int bisect(const ResolvedRun& run, const std::string& id);

}  // namespace proctor::cli
