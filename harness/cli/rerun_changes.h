// Finds what changed since a run: configuration files, programs and devices. `rerun` and `run --resume` use it.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "reports/resolve/rerun.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

// Returns one sentence with digests for each changed file or program of these cases (empty: all cases). The current
// directory must be that of the run.
std::vector<std::string> changes_since(const ResolvedRun& run, const std::vector<std::string>& case_ids);

// Returns one sentence for each value that the journal lacks, so that a change cannot be detected.
std::vector<std::string> untold_by(const ResolvedRun& run, const std::vector<std::string>& case_ids);

// Returns an error unless each device in `command` exists here and is the same device as in the run.
Result<void> check_same_devices(const ResolvedRun& run, const RerunCommand& command);

}  // namespace proctor::cli
