// summary.md: what a person reads first, on a terminal or as the summary of a CI job.
#pragma once

#include <cstddef>
#include <string>

#include "reports/formats/markdown.h"
#include "reports/model/failure_summary.h"
#include "reports/model/run_model.h"

namespace proctor {

// At most `limit` bytes; it says what it leaves out.
std::string summary_markdown(const RunModel& model, std::size_t limit = kJobSummaryBytes);

// The same without its verdict, for a report that has another one (`proctor accept`).
std::string summary_of_cases(const RunModel& model, std::size_t limit = kJobSummaryBytes);

}  // namespace proctor
