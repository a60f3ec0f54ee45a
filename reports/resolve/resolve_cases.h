// The facts of each case that follow from its records and those of the run: its verdict, the attempt that decides, whose
// problem it is, and what happened in one line.
#pragma once

#include "reports/resolve/resolved_run.h"

namespace proctor {

void resolve_cases(ResolvedRun& run);

}  // namespace proctor
