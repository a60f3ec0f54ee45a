// The last step of a run: it executes the cases and writes the reports. run.cc calls it.
#pragma once

#include "harness/runner/display.h"
#include "harness/runner/prepared.h"
#include "harness/runner/schedule/run_control.h"

namespace proctor::runner {

// A stop that arrives after the last case shortens the work on the reports. `control` keeps this late stop.
RunResult finish_run(const Checked& checked, Prepared& prepared, RunDisplay& display, RunControl& control);

}  // namespace proctor::runner
