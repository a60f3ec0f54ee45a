// What the history knows of the cases of a run that failed or were flaky, as the run records it in its journal.
#pragma once

#include <cstddef>
#include <string>

#include "harness/journal/events.h"
#include "reports/resolve/past.h"

namespace proctor {

// Whether the case did not fail in any earlier run, or the history has runs but not of the case.
bool is_new(const CasePast& past);

// Of the case with this index in Past::cases.
CasePast case_past(const std::string& id, std::size_t index, const Past& past);

// "NEW: passed in 0123abc", "first failed in 0123abc (3 runs)", "flaky in 3 of 10 earlier runs, passed in 0123abc"
std::string age_text(const CasePast& past);
// "flaky in 3 of 10 earlier runs"; "" if it never was.
std::string flaky_text(const CasePast& past);

}  // namespace proctor
