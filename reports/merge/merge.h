// Merges runs that together cover a whole plan into one journal, which can be read like that of any other run. The
// parts are the shards of the plan, and runs of the remaining cases of shards (`run --resume`, `plan --remaining`).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// A run that becomes a part of the merged run.
struct MergePart {
  std::string name{};  // for messages: the run directory as typed
  std::string
      place{};  // "shard-2/", "remaining-1/": the place of its files in the directory of the merged run
  ResolvedRun run{};
  std::vector<bool> reported{};  // by case: whether the merged run takes the case from this part
};

// Reads a run by its name.
using LoadRun = std::function<Result<ResolvedRun>(const std::string& name)>;

// Reads each run: first the shards by their number, then the other runs by their start. Each of these is an error:
//   * a run that is neither a shard nor a run of remaining cases
//   * different plans, stacks or rules
//   * a shard that is missing or given twice
//   * a run of remaining cases without the run that left them
//   * a case with two outcomes, or a case that is not in the plan
Result<std::vector<MergePart>> read_parts(const std::vector<std::string>& names, const LoadRun& load);

// Writes the merged journal. Every case keeps its verdict, also in a shard that was stopped or killed. If a case has no
// outcome in its shard and another run executed it, only the records of that other run are written. The log of a case
// is `place` with its old name. With several hosts, a device is HOST/ID.
void merge_parts(std::vector<MergePart> parts, EventSink& journal);

}  // namespace proctor
