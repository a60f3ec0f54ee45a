// Finds the runner of a recorded run and what it left, as far as this process can see. This also works from
// outside of a container, where the runner has another pid. For `proctor finish`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/runner/record/process_handle.h"
#include "harness/runner/record/run_record.h"

namespace proctor {

// The process of a living runner (process_handle.h). Its pid is the one that this process sees. None if /proc does not show
// the runner here, or shows it with another start time, as from another time namespace.
std::optional<ProcessHandle> find_runner(const RunRecord& record);

// Whether the process that started the runner has ended, so that nobody waits for the runner any more: the kernel has given
// the runner another parent. False if that cannot be known, because the runner was started from outside of its PID namespace
// (`docker exec`) or is meant to outlive its step.
bool step_is_over(const RunRecord& record, const ProcessHandle& runner);

// Ends a living runner. After the first SIGTERM it stops its cases and writes its reports; after a second one
// it kills them; then comes SIGKILL. All this takes at most `limit`. `said` gets what was done. False if the
// runner is still there.
bool stop_runner(const ProcessHandle& runner, Milliseconds limit, std::vector<std::string>& said);

// For a run whose runner is gone: kills the processes that its cases started, wherever they went. The id of
// the run is in the environment of each, unless the process removed it, and in the path of its cgroup, if the
// run has one; a guard has it among its arguments; and the record names what the runner could not end. This is repeated until no process is left, for at most `limit`. `said` gets one sentence per
// process. False if some are still there.
bool kill_leftovers(const RunRecord& record, Milliseconds limit, std::vector<std::string>& said);

}  // namespace proctor
