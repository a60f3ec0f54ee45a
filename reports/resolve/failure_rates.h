// Computes the failure rate of each case in a run that repeats its cases to measure it: `--repeat 2h` and `--repeat
// 99%:1%`. Console, report.json, summary and page show these rates.
//
// Each attempt that passed or failed counts as a run of the case, including retries and attempts that confirm another
// one. Attempts that were skipped or interrupted do not count. An attempt whose device was unhealthy does not count,
// because it is not evidence about the case. With a rate to exclude, attempts after the first failure do not count,
// because this failure ends the claim.
#pragma once

#include <string>

#include "reports/resolve/resolved_run.h"

namespace proctor {

// Sets ResolvedCase::rates in a run that repeats for a duration, or with a rate to exclude.
void resolve_failure_rates(ResolvedRun& run);

// Returns "3 of 120 runs failed: 2.5 %, 95 % interval 0.85 to 7.1 %".
std::string to_string(const FailureRate& rate);

// Returns the text for the end of the run: the rates of failed cases by device and order, and a summary of the other
// cases. Returns "" for a run without rates.
std::string failure_rate_text(const ResolvedRun& run);

}  // namespace proctor
