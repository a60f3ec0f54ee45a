// The last step of a run: its cases are executed, and its reports are written.
#pragma once

#include "harness/runner/display.h"
#include "harness/runner/prepared.h"
#include "harness/runner/run.h"

namespace proctor::runner {

// Returns what became of the run, less its directory.
RunResult finish_run(const Checked& checked, Prepared& prepared, RunDisplay& display);

}  // namespace proctor::runner
