// What happened to a case and in each of its attempts, in one line.
#pragma once

#include <string>

#include "reports/resolve/resolved_run.h"

namespace proctor {

// Returns the first bad attempt or, if there is none, the first in which the framework ran the case again after a failure.
const Attempt* first_bad_attempt(const ResolvedCase& test);

// "NVIDIA H100 PCIe · 0000:4d:00.0 · 10de:2331 · 9.0", as far as its driver reports it; "" when it reports nothing.
std::string model_text(const PlannedDevice& device);

// Sets the headlines of the case and of its attempts, and the devices of the case in words.
void resolve_headlines(const ResolvedRun& run, ResolvedCase& test);

// What a case left behind when it ended by itself: "process 4711 (sleep 600)", and of a process that several cases
// shared, which of them it may have been. "" when nothing was left.
std::string leak_text(const Termination& termination);

}  // namespace proctor
