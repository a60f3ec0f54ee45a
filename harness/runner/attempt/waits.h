// What a case waited for until its limit, in sentences for people.
#pragma once

#include <string>
#include <vector>

#include "harness/process/host_usage.h"

namespace proctor {

// "It waited for a CPU for 61 of its 90 s and got 12 s." where that was so for at least half of the limit; likewise of
// memory and of a disk, which change no outcome. Usually none.
std::vector<std::string> waits_at_limit(const Starvation& seen);

}  // namespace proctor
