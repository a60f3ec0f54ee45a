// Merges the runs of a plan's shards into one run directory, for `report merge` and for `slurm run`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

struct MergedRun {
  std::string directory;  // absolute; contains all reports
  ResolvedRun run;
  std::size_t runs = 0;  // number of merged runs
};

// `out` must be new, empty, or the result of an earlier merge. An earlier result is replaced and is not used as an
// input. Nothing is written if the shards do not complete their plan.
Result<MergedRun> merge_run_directories(const std::vector<std::string>& run_dirs, const std::string& out);

}  // namespace proctor::cli
