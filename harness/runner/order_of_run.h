// In which order the cases of a run start (--order), and how long they took before: by --history, else by the last runs
// in proctor-out/.
#pragma once

#include "harness/runner/checked.h"
#include "harness/runner/placed.h"
#include "harness/runner/schedule/run_setup.h"

namespace proctor::runner {

// What cannot be read is as if it were not there: an order changes no outcome. A file of --history that cannot be read
// any more is a warning of the run.
OrderSetup order_of_run(const Checked& checked, Placed& placed);

}  // namespace proctor::runner
