// Shards of a plan that take about as long as each other.
//
// Longest processing time first (Graham, "Bounds on multiprocessing timing anomalies", 1969): the longest case that is left
// goes to the shard that has least. The longest shard takes at most 4/3 of the best division, and nearly the mean where
// there are many cases.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "harness/plan/plan.h"

namespace proctor {

struct Balance {
  std::vector<double> shard_ms{};  // how long the cases of each shard take, one after the other
  std::size_t unknown = 0;         // cases without a duration
};

// Gives every case of the plan its shard, 1 to `count`. `durations` are in ms, by the id of a case; for one without, see
// expected_durations.h. The same arguments give the same shards.
Balance balance_shards(Plan& plan, int count, const std::map<std::string, double>& durations);

}  // namespace proctor
