// The last step of a run: its cases are executed, and its reports are written.
#pragma once

#include "harness/runner/display.h"
#include "harness/runner/prepared.h"
#include "harness/runner/schedule/run_control.h"

namespace proctor::runner {

// A stop that is too late for the cases makes the reports hurry, and waits in `control`.
RunResult finish_run(const Checked& checked, Prepared& prepared, RunDisplay& display, RunControl& control);

}  // namespace proctor::runner
