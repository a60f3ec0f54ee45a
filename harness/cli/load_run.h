// A run as its journal tells it, compared with what its runner wrote where that is known on this machine.
#pragma once

#include <string>

#include "harness/core/result.h"
#include "reports/run_model.h"

namespace proctor::cli {

Result<RunModel> load_run(const std::string& run_dir);

}  // namespace proctor::cli
