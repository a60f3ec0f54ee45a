// Sweeps what dead runs left: their processes, cgroups, scratch directories and records. A free lock proves that a
// runner has ended (process_handle.h). Each thing has a proof of its own as well:
//
//   a scratch directory   its lock is free (held_directory.h)
//   a cgroup              its lock is free, and its name has the id of the run
//   a process             the record names its pid and start time, in this boot, PID namespace and time namespace
//
// What has no proof stays, and is named.
#pragma once

#include <string>
#include <vector>

#include "harness/runner/record/run_record.h"

namespace proctor {

// The caller has found that the runner is gone. `said` gets one sentence for each thing that was found. False if something
// is still there.
bool sweep_run(const RunRecord& record, std::vector<std::string>& said);

// Sweeps every dead run of this user and removes its records, unless something of it is still there. Each sentence names
// the run. A run that may be alive, although nothing proves it, is left alone and gets one sentence as well.
std::vector<std::string> sweep_dead_runs();

}  // namespace proctor
