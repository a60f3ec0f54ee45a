// Which part of a plan one of several machines runs. Every machine decides this alone, from the ids and the
// number of shards, so nobody has to hand out work. If a shard is added, cases move only to the new one.
//
// Rendezvous hashing (Thaler and Ravishankar, "Using name-based mappings to increase hit rates",
// 1998): each shard has a weight for each id, and the shard with the largest weight has the case. The weight
// of shard K is FNV-1a (64 bits) of the id, mixed with K by the finaliser of SplitMix64. It never changes: a
// shard that is run again has the same cases.
//
// A balanced plan (balance_shards) is the exception: each of its cases has its shard, under the digest of the plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/plan/plan.h"

namespace proctor {

struct Shard {
  int index = 1;  // 1..count
  int count = 1;

  friend bool operator==(const Shard&, const Shard&) = default;
};

inline constexpr int kMostShards = 10'000;

// "2/4". A usage error names the value.
Result<Shard> parse_shard(std::string_view text);

// A number without sign or blanks, as shards are written.
std::optional<int> shard_number(std::string_view text);

// FNV-1a of the id, mixed by the finaliser of SplitMix64.
std::uint64_t id_hash(std::string_view id);

// The shard that has the case, 1..count.
int shard_of(std::string_view id, int count);

// Keeps only the cases of one shard, in their order. A plan that is balanced for another number of shards is refused.
Result<void> keep_shard(const Shard& shard, Plan& plan);

// Shards of a plan that take about as long as each other.
//
// Longest processing time first (Graham, "Bounds on multiprocessing timing anomalies", 1969): the longest case that is left
// goes to the shard that has least. The longest shard takes at most 4/3 of the best division, and nearly the mean where
// there are many cases.
struct Balance {
  std::vector<double> shard_ms{};  // how long the cases of each shard take, one after the other
  std::size_t unknown = 0;         // cases without a duration
};

// Gives every case of the plan its shard, 1 to `count`. `durations` are in ms, by the id of a case; for one without, see
// ExpectedDurations. The same arguments give the same shards.
Balance balance_shards(Plan& plan, int count, const std::map<std::string, double>& durations);

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

// A usage error names what is missing, the impossible value, or the two that contradict each other.
Result<Shard> shard_of_environment(const std::map<std::string, std::string>& environment);

}  // namespace proctor
