// Which shard this process is of, by the variables that schedulers and CI systems give their tasks (`--shard auto`):
//
//   PROCTOR_SHARD                                        K/N; wins over all others
//   SLURM_ARRAY_TASK_ID, _MIN, _MAX, _COUNT (_STEP)      a Slurm job array without gaps
//   SLURM_PROCID, SLURM_STEP_NUM_TASKS                   a task of a Slurm step (SLURM_STEP_ID is set), from 0
//   JOB_COMPLETION_INDEX, PROCTOR_SHARD_COUNT            an indexed Job of Kubernetes, from 0
//   CI_NODE_INDEX, CI_NODE_TOTAL                         GitLab's `parallel`, from 1
//   BUILDKITE_PARALLEL_JOB, BUILDKITE_PARALLEL_JOB_COUNT Buildkite's `parallelism`, from 0
//   CIRCLE_NODE_INDEX, CIRCLE_NODE_TOTAL                 CircleCI's `parallelism`, from 0
//
// "One of one" says nothing where another one says more. Two that say more are refused: an array of steps is
// no flat list of shards.
#pragma once

#include <map>
#include <string>

#include "harness/base/result.h"
#include "harness/plan/shard.h"

namespace proctor {

// A usage error names what is missing, the impossible value, or the two that contradict each other.
Result<Shard> shard_of_environment(const std::map<std::string, std::string>& environment);

}  // namespace proctor
