// summary.md: what a person reads first, on a terminal or as the summary of a CI job.
#pragma once

#include <cstddef>
#include <string>

#include "reports/model/failure_summary.h"
#include "reports/model/run_model.h"

namespace proctor {

// GitHub drops the whole summary of a step beyond 1 MiB (actions/runner, CreateStepSummaryCommand); this is
// 10 % less.
inline constexpr std::size_t kJobSummaryBytes = 1024 * 1024 * 9 / 10;

// At most `limit` bytes; it says what it leaves out.
std::string summary_markdown(const RunModel& model, std::size_t limit = kJobSummaryBytes);

}  // namespace proctor
