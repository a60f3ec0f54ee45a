// Runs a plan: one event loop on one thread, as many cases at once as there are slots and devices to give.
//
//   running --as many bad verdicts as --fail-fast allows--> finishing: nothing new starts, what runs goes on
//   running --too many machine outcomes in a row--> finishing: what is left is notrun(machine_failures)
//   running --time of --repeat is over--> finishing: what has run ends with what it has come to
//   running | finishing --deadline--> stopping: TERM to every case, what is left is notrun(run_limit)
//   running | finishing --INT, TERM, HUP, parent's death--> stopping: forwarded, the rest is
//                                                           notrun(interrupted)
//   stopping --second signal--> killing: KILL to every case
//   stopping | killing --stop budget used up--> processes that do not die are abandoned as unkillable
//   any --nothing runs, nothing can start--> ended
//
// It speaks only through events; it prints nothing and decides no exit code.
#pragma once

#include "harness/journal/events.h"
#include "harness/runner/schedule/run_control.h"
#include "harness/runner/schedule/run_setup.h"

namespace proctor {

// `planned` is the first event. `control` is how the caller stops the run. A stop after the last case waits in it, so that
// the reports can be completed: RunControl::late_stop() afterwards.
void run_plan(const RunSetup& setup, const RunPlanned& planned, RunControl& control, EventSink& sink);

}  // namespace proctor
