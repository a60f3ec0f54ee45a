// One run out of the shards of a plan, as a journal: what reads a run reads it like any other.
#pragma once

#include <string>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/result.h"
#include "reports/run_model.h"

namespace proctor {

struct MergeInput {
  std::string name;  // for messages: the run directory as typed
  RunModel model;
};

// The journal of the whole plan. Refused, each with its name: a run that is no shard; shards of different
// plans, different stacks, or run under different rules; a shard that is missing or there twice; a case that
// is there twice, or cases that are not the plan's.
//
// Every case keeps its verdict, also those of a shard that was stopped or killed. The log of a case is
// `shard-K/` and its old name; with several hosts, a device is HOST/ID.
Result<std::vector<Event>> merge_runs(const std::vector<MergeInput>& inputs);

// "shard-2/": where what belongs to a shard lies in the directory of the merged run.
std::string shard_directory(const MergeInput& input);

}  // namespace proctor
