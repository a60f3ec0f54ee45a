// Describes what a case waited for until its limit, in sentences for people.
#pragma once

#include <string>
#include <vector>

#include "harness/process/host_usage.h"

namespace proctor {

// Returns for example "It waited for a CPU for 61 of its 90 s and got 12 s." A sentence appears if the wait was at
// least half of the limit. Waits for memory and for a disk get a sentence too; they change no outcome. Usually the
// result is empty.
std::vector<std::string> waits_at_limit(const Starvation& seen);

}  // namespace proctor
