// summary.md: what a person reads first, on a terminal or as the summary of a CI job.
#pragma once

#include <cstddef>
#include <string>

#include "reports/formats/markdown.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// At most `limit` bytes; it says what it leaves out.
std::string summary_markdown(const ResolvedRun& run, std::size_t limit = kJobSummaryBytes);

// The same without its verdict, for a report that has another one (`proctor accept`).
std::string summary_of_cases(const ResolvedRun& run, std::size_t limit = kJobSummaryBytes);

}  // namespace proctor
