// Finds the runner of a recorded run and its leftover processes in /proc. This also works from outside of a container,
// where the runner has another pid. `proctor finish` uses it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/runner/record/process_handle.h"
#include "harness/runner/record/run_record.h"

namespace proctor {

// Returns the process of a living runner (process_handle.h). Its pid is the one that this process sees. Returns nothing
// if /proc does not show the runner, or shows it with another start time, for example in another time namespace.
std::optional<ProcessHandle> find_runner(const RunRecord& record);

// Returns whether the process that started the runner has ended: the kernel has then given the runner another parent.
// Returns false if that cannot be determined, because the runner was started from outside of its PID namespace (`docker
// exec`) or should outlive its step.
bool step_is_over(const RunRecord& record, const ProcessHandle& runner);

// Ends a living runner. After the first SIGTERM the runner stops its cases and writes its reports. After a second one
// it kills its cases. Then it gets SIGKILL. All this takes at most `limit`. `said` receives a sentence about the
// result. Returns false if the runner is still alive.
bool stop_runner(const ProcessHandle& runner, Milliseconds limit, std::vector<std::string>& said);

// Kills the processes of a run whose runner has ended. A process belongs to the run if its environment, the path of its
// cgroup or the arguments of a guard contain the id of the run, or if the record names it. The environment lacks the id
// if the process removed it. The search is repeated until no process remains, for at most `limit`. `said` receives one
// sentence per process. Returns false if processes remain.
bool kill_leftovers(const RunRecord& record, Milliseconds limit, std::vector<std::string>& said);

}  // namespace proctor
