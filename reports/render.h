// All reports of a run from its model. The same journal gives the same bytes.
#pragma once

#include <filesystem>

#include "harness/core/result.h"
#include "reports/run_model.h"

namespace proctor {

// Writes junit.xml, junit/*.xml, report.json and summary.md, each complete or not at all. A file that cannot
// be written does not stop the others from being written; the error names every such file.
Result<void> render(const RunModel& model, const std::filesystem::path& run_dir);

}  // namespace proctor
