// Merges the shards of a plan into one run, as a journal, which can be read like that of any other run.
#pragma once

#include <string>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/result.h"
#include "reports/model/run_model.h"

namespace proctor {

struct MergeInput {
  std::string name;  // for messages: the run directory as typed
  RunModel model;
};

// The journal of the whole plan. It refuses, and names: a run that is no shard; shards of different plans, of
// different stacks, or run under different rules; a shard that is missing or given twice; a case that appears
// twice, and cases that are not in the plan.
//
// Every case keeps its verdict, also those of a shard that was stopped or killed. The log of a case is
// `shard-K/` with its old name; with several hosts, a device is HOST/ID.
Result<std::vector<Event>> merge_runs(const std::vector<MergeInput>& inputs);

// "shard-2/": the place of a shard's files in the directory of the merged run.
std::string shard_directory(const MergeInput& input);

}  // namespace proctor
