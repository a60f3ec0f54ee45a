// Time stamps, and the clock of a run. Deadlines use the monotonic clock only; the wall clock is for people.
#pragma once

#include <chrono>
#include <string>

namespace proctor {

using Clock = std::chrono::steady_clock;

// UTC with Z, whole seconds: "2026-01-31T12:00:00Z".
std::string utc_now();

}  // namespace proctor
