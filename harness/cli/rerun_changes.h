// What a rerun would find otherwise than the run did: the files that decided what was run, the programs, the devices.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "reports/resolve/rerun.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

// One sentence for each file or program of these cases (none: of all) that is another one now, with the digests. The
// current directory is that of the run.
std::vector<std::string> changes_since(const ResolvedRun& run, const std::vector<std::string>& case_ids);

// What the journal does not tell, so that nobody can say whether it changed: one sentence each.
std::vector<std::string> untold_by(const ResolvedRun& run, const std::vector<std::string>& case_ids);

// An error unless each device that `command` names is here, and is the one that the run had.
Result<void> check_same_devices(const ResolvedRun& run, const RerunCommand& command);

}  // namespace proctor::cli
