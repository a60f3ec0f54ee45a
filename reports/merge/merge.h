// Merges runs that together have the whole of a plan into one run, as a journal, which can be read like that of any other
// run: the shards of the plan, and runs of what shards left (`run --resume`, `plan --remaining`).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

struct MergePart {
  std::string name{};   // for messages: the run directory as typed
  std::string place{};  // "shard-2/", "remaining-1/": where its files are in the directory of the merged run
  ResolvedRun run{};
  std::vector<bool> reported{};  // by case: the merged run has it from this part
};

// Reads a run by its name.
using LoadRun = std::function<Result<ResolvedRun>(const std::string& name)>;

// Reads each run: shards by their number, then the others as they began. It refuses, and names: a run that is neither a shard
// nor what one left; runs of different plans, of different stacks, or run under different rules; a shard that is missing or
// given twice; what a run left without that run; a case that has an outcome twice, and cases that are not in the plan.
Result<std::vector<MergePart>> read_parts(const std::vector<std::string>& names, const LoadRun& load);

// Passes the journal of the whole on. Every case keeps its verdict, also those of a shard that was stopped or killed. Of a
// case without an outcome there that another run has executed, that run is told alone. The log of a case is `place` with its
// old name; with several hosts, a device is HOST/ID.
void merge_parts(std::vector<MergePart> parts, EventSink& journal);

}  // namespace proctor
