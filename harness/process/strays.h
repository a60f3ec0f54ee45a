// Names of the processes that a case left behind.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "harness/core/events.h"

namespace proctor {

// Every living descendant of `guard` except `leader`; zombies do not count. At most 64 are named.
std::vector<Stray> find_strays(pid_t guard, pid_t leader);

// Also true of a process that nobody has reaped yet.
bool is_zombie_or_gone(pid_t pid);

// Its command line, made safe to show; "" when it is gone.
std::string command_of(pid_t pid);

// The leader of `guard`'s case as the runner sees it: its first living child, or 0.
pid_t find_leader(pid_t guard);

}  // namespace proctor
