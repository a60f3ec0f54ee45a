// The runs of a plan's shards as one run directory, for `report merge` and for who started the shards.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

struct MergedRun {
  std::string directory;  // absolute; with all reports
  ResolvedRun run;
  std::size_t runs = 0;  // of which it is made
};

// `out` is new, empty, or what an earlier merge wrote: that one is replaced, and is no input. Nothing is written where the
// shards do not add up to their plan.
Result<MergedRun> merge_run_directories(const std::vector<std::string>& run_dirs, const std::string& out);

}  // namespace proctor::cli
