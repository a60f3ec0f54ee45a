// What the history knows of the cases of a run that failed or were flaky, as the run records it in its journal.
#pragma once

#include <vector>

#include "reports/model/past.h"
#include "reports/model/run_results.h"

namespace proctor {

// Whether the case did not fail before: its last earlier run passed, or the history has runs but not of the case.
bool is_new(const CasePast& past);

// Of the cases of `results` that failed or were flaky; empty if the history has no earlier run.
std::vector<CasePast> case_pasts(const RunResults& results, const Past& past);

// "new", "since 0123abc (3 runs)"
std::string age_text(const CasePast& past);
// "flaky in 3 of 10 earlier runs"; "" if it never was.
std::string flaky_text(const CasePast& past);

}  // namespace proctor
