// The leader of a case with ranks: starts each rank in a process group of its own, passes on their output,
// and ends when they have ended. It decides nothing about the case; the runner does, from the events
// described here.
//
//   stdout, stderr of a rank   its log, and the supervisor's own, each line with "[RANK] " before it
//   events of a rank           the supervisor's events descriptor, each line with a member "rank":R
//   {"v":1,"event":"rank_end","rank":R,"exit":N|null,"signal":N|null,"pid":N,"core":B,"stopped_by_proctor":B,
//    "bytes":N,"dropped_bytes":N,"step":TEXT,"errno":N}     step, errno: it could not be started
//    "out":TEXT,"err":TEXT                                  the end of what it wrote, if it ended badly by itself
//
// The run of the ranks is over when all have ended except those that said `leave` with "ended"; these are
// then killed. After a rank ended badly, the others have the grace to end by themselves. Signals are the
// guard's work: it sends them to the whole tree, and the supervisor ignores them, so that it lives until all
// ranks have ended.
#pragma once

#include "harness/base/result.h"
#include "harness/process/ranks/rank_plan.h"

namespace proctor {

// Returns when all ranks have ended and are reaped. `events_fd` is where events go.
Result<void> supervise_ranks(const RankPlan& plan, int events_fd);

}  // namespace proctor
