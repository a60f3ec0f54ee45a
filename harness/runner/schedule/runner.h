// Runs a plan in one event loop on one thread. As many cases run at once as there are slots and devices.
//
//   running --failures of --fail-fast reached--> finishing: no new case starts, running cases continue
//   running --too many machine outcomes in a row--> finishing: remaining cases are notrun(machine_failures)
//   running --time of --repeat is over--> finishing: cases that ran keep their results
//   running | finishing --deadline--> stopping: TERM to every case, remaining cases are notrun(run_limit)
//   running | finishing --INT, TERM, HUP, parent's death--> stopping: the signal is forwarded,
//                                                           remaining cases are notrun(interrupted)
//   stopping --second signal--> killing: KILL to every case
//   stopping | killing --stop budget used up--> processes that do not die are abandoned as unkillable
//   any --nothing runs, nothing can start--> ended
//
// It reports only through events. It prints nothing and sets no exit code.
#pragma once

#include "harness/journal/events.h"
#include "harness/runner/schedule/run_control.h"
#include "harness/runner/schedule/run_setup.h"

namespace proctor {

// `planned` is the first event. The caller stops the run through `control`. A stop after the last case waits in
// `control`, so that the reports can be completed. Read it with RunControl::late_stop().
void run_plan(const RunSetup& setup, const RunPlanned& planned, RunControl& control, EventSink& sink);

}  // namespace proctor
