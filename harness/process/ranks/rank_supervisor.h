// The leader of a case with ranks. It starts each rank in its own process group, passes on the output, and
// ends when all ranks have ended. It does not judge the case: the runner does, from the events described
// here.
//
//   stdout, stderr of a rank   its log, and the supervisor's own, each line with "[RANK] " before it
//   events of a rank           the supervisor's events descriptor, each line with a member "rank":R
//   {"v":1,"event":"rank_end","rank":R,"exit":N|null,"signal":N|null,"pid":N,"core":B,"stopped_by_proctor":B,
//    "bytes":N,"dropped_bytes":N,"step":TEXT,"errno":N}     step, errno: if it could not be started
//    "out":TEXT,"err":TEXT                                  the end of its output, if it ended badly by itself
//
// The ranks have finished when all have ended, except those that announced `leave` with "ended"; these are
// then killed. After one rank ended badly, the others have the grace time to end by themselves. The guard
// sends signals to the whole tree. The supervisor ignores these signals, so it lives until all ranks have
// ended.
#pragma once

#include "harness/base/result.h"
#include "harness/process/ranks/rank_plan.h"

namespace proctor {

// Returns when all ranks have ended and are reaped. `events_fd` is the descriptor for events.
Result<void> supervise_ranks(const RankPlan& plan, int events_fd);

}  // namespace proctor
