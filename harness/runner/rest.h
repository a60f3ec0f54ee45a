// A run that goes on where others of the same plan were lost (`run --resume`).
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "harness/plan/plan.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::runner {

// Leaves in `plan` the cases that none of the runs in these directories has an outcome of. They must be runs of the same
// shard of the same plan. The directories are run directories, absolute or relative to the current one.
Result<PlannedRest> keep_rest(const std::vector<std::string>& directories, const WholePlan& whole,
                              const std::optional<PlannedShard>& shard, Plan& plan);

}  // namespace proctor::runner
