// The runner of a recorded run and what it left, as far as this process can see: also from outside of a
// container, where the runner has another pid. For `proctor finish`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/duration.h"
#include "harness/run/record/process_handle.h"
#include "harness/run/record/run_record.h"

namespace proctor {

struct FoundRunner {
  RunnerState state = RunnerState::kUnknown;
  std::optional<ProcessHandle> process{};  // alive only; its pid is the one that is seen from here
};

// Gone is proven: by the same PID namespace, or by one that shows all processes of the runner's, which is one
// above it (some process of the runner's is to be seen), or that of the whole machine.
FoundRunner find_runner(const RunRecord& record);

// Whoever started the runner has ended, so nobody waits for it any more. False where that cannot be known:
// the runner was started from outside of its PID namespace (`docker exec`), or is to outlive its step.
bool step_is_over(const RunRecord& record);

// Ends a living runner: SIGTERM, after which it stops its cases and writes its reports; a second one, after
// which it kills them; SIGKILL. All within `limit`. `said`: what was done. False: it is still there.
bool stop_runner(const ProcessHandle& runner, Milliseconds limit, std::vector<std::string>& said);

// Kills what was started by the cases of a run whose runner is gone, wherever it went: the id of the run is
// in the environment of each, unless it took it out, and in the path of its cgroup, if the run has one. One
// sentence per process; again until there is none, for at most `limit`. False: some are still there.
bool kill_leftovers(const RunRecord& record, Milliseconds limit, std::vector<std::string>& said);

}  // namespace proctor
