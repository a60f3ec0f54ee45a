// What runs of a plan left, as a plan of its own (`proctor plan --rest`).
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/plan/plan_file.h"

namespace proctor::cli {

// The plan in `plan_file` with the cases of these runs of which none of them has an outcome. They must be shards of that
// plan, or runs of what such shards left. `plan_file` is "" for the file that they name. Without cases: nothing is left.
Result<PlanFile> plan_of_rest(const std::vector<std::string>& run_dirs, const std::string& plan_file,
                              const std::string& directory);

}  // namespace proctor::cli
