// `proctor rerun --bisect CASE` finds the cases before it in its process that change the outcome of a case. Each try is a
// `proctor run` of one process, and its journal shows the outcome.
#pragma once

#include <string>

#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

// Prints these cases. Returns the exit code: 0 if there are some, 1 if there are none, or if the case is flaky.
int bisect(const ResolvedRun& run, const std::string& id);

}  // namespace proctor::cli
