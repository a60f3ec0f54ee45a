// summary.md: what a person reads first, on a terminal or as the step summary of a CI job (at most 1 MiB
// there).
#pragma once

#include <string>

#include "reports/explain.h"
#include "reports/run_model.h"

namespace proctor {

std::string summary_markdown(const RunModel& model);

}  // namespace proctor
