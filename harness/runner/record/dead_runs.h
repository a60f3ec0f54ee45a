// Sweeps the leftovers of dead runs: processes, cgroups, scratch directories and records. The next run and `proctor
// finish` call it. A free lock proves that a runner has ended (process_handle.h). Each kind of leftover also needs a
// separate proof:
//
//   a scratch directory   its lock is free (held_directory.h)
//   a cgroup              its lock is free, and its name has the id of the run
//   a process             the record names its pid and start time, in this boot, PID namespace and time namespace
//
// A leftover without proof stays, and is named.
#pragma once

#include <string>
#include <vector>

#include "harness/runner/record/run_record.h"

namespace proctor {

// Call it only for a run whose runner has ended. `said` receives one sentence for each leftover. Returns false if a
// leftover remains.
bool sweep_run(const RunRecord& record, std::vector<std::string>& said);

// Sweeps every dead run of this user. Removes the record of a run if no leftover remains. Each sentence names the run.
// A run that may be alive without proof is left alone, and gets one sentence too.
std::vector<std::string> sweep_dead_runs();

}  // namespace proctor
