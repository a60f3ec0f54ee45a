// How often each case failed in a run that repeated its cases to find out: `--repeat 2h` and `--repeat 99%:1%`. Console,
// report.json, summary and page say what is computed here.
//
// An attempt that passed or failed is a run of the case, also a retry and one that confirms another. Attempts that were
// skipped or cut short do not count, nor does one whose device was found unhealthy: it says nothing about the case. With
// a rate to exclude, nothing counts after the first failure, which ends the claim.
#pragma once

#include <string>

#include "reports/resolve/resolved_run.h"

namespace proctor {

// Sets ResolvedCase::rates in a run with turns, or with a rate to exclude.
void resolve_failure_rates(ResolvedRun& run);

// "3 of 120 runs failed: 2.5 %, 95 % interval 0.85 to 7.1 %".
std::string to_string(const FailureRate& rate);

// For people, at the end of the run: cases that failed with their parts, and what is known of the others. "" of a run that
// has no rates.
std::string failure_rate_text(const ResolvedRun& run);

}  // namespace proctor
