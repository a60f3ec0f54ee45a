// The process tree below a subreaper, read from /proc. Orphans are adopted by the subreaper, so everything
// that a case ever started hangs below its guard. Used by the guard (to signal) and by the runner (to name
// strays).
#pragma once

#include <sys/types.h>

#include <vector>

namespace proctor::guard {

// All living or unreaped descendants of `root`, parents before children. A process that forks meanwhile may
// be missed; callers repeat until nothing is left. Needs CONFIG_PROC_CHILDREN (probed with the layer).
std::vector<pid_t> descendants(pid_t root);

// Sends `signal` to every descendant of `root`. A pid that was reused between reading and sending is not hit:
// the process is pinned by a pidfd and must still be a descendant before the signal goes out.
void signal_descendants(pid_t root, int signal);

}  // namespace proctor::guard
