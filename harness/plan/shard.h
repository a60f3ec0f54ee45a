// Assigns the cases of a plan to shards, one for each machine. Every machine computes its shard from the case
// ids and the number of shards, so no coordinator is needed. If a shard is added, cases move only to the new
// shard.
//
// The algorithm is rendezvous hashing (Thaler and Ravishankar, "Using name-based mappings to increase hit
// rates", 1998). Each shard has a weight for each id, and the shard with the largest weight runs the case.
// The weight of shard K is FNV-1a (64 bits) of the id, mixed with K by the finaliser of SplitMix64. The
// weights never change: a repeated shard has the same cases.
//
// A balanced plan (balance_shards) is the exception. Each of its cases stores its shard, which is part of the
// digest of the plan.
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

// Shard `index` of `count` shards.
struct Shard {
  int index = 1;  // 1..count
  int count = 1;

  friend bool operator==(const Shard&, const Shard&) = default;
};

inline constexpr int kMostShards = 10'000;

// Parses "2/4". A usage error contains the value.
Result<Shard> parse_shard(std::string_view text);

// Parses a number without sign or blanks, the form of shard numbers.
std::optional<int> shard_number(std::string_view text);

// Returns FNV-1a of the id, mixed by the finaliser of SplitMix64.
std::uint64_t id_hash(std::string_view id);

// Returns the shard of the case, 1..count.
int shard_of(std::string_view id, int count);

// Keeps only the cases of one shard, in their order. A plan that is balanced for another number of shards is
// refused.
Result<void> keep_shard(const Shard& shard, Plan& plan);

// The result of balancing: shards with similar total durations.
//
// The algorithm is longest processing time first (Graham, "Bounds on multiprocessing timing anomalies",
// 1969). The longest unassigned case goes to the shard with the smallest total. The longest shard takes at
// most 4/3 of the optimum. With many cases it takes nearly the mean.
struct Balance {
  std::vector<double> shard_ms{};  // total duration of the cases of each shard
  std::size_t unknown = 0;         // cases without a duration
};

// Assigns every case of the plan to a shard, 1 to `count`. `durations` maps case ids to ms. ExpectedDurations
// has the default for other cases. The same arguments give the same shards.
Balance balance_shards(Plan& plan, int count, const std::map<std::string, double>& durations);

// Returns the shard of this process (`--shard auto`) from the variables that schedulers and CI systems set
// for their tasks:
//
//   PROCTOR_SHARD                                        K/N; takes precedence over all others
//   SLURM_ARRAY_TASK_ID, _MIN, _MAX, _COUNT (_STEP)      a Slurm job array without gaps
//   SLURM_PROCID, SLURM_STEP_NUM_TASKS                   a task of a Slurm step (SLURM_STEP_ID is set), from 0
//   JOB_COMPLETION_INDEX, PROCTOR_SHARD_COUNT            an indexed Job of Kubernetes, from 0
//   CI_NODE_INDEX, CI_NODE_TOTAL                         GitLab's `parallel`, from 1
//   BUILDKITE_PARALLEL_JOB, BUILDKITE_PARALLEL_JOB_COUNT Buildkite's `parallelism`, from 0
//   CIRCLE_NODE_INDEX, CIRCLE_NODE_TOTAL                 CircleCI's `parallelism`, from 0
//
// A variable set with one of one task is ignored if another set describes more tasks. Two sets with more than
// one task are refused, because an array of steps is not a flat list of shards.

// A usage error names the missing variable, the impossible value, or the two contradicting sets.
Result<Shard> shard_of_environment(const std::map<std::string, std::string>& environment);

}  // namespace proctor
