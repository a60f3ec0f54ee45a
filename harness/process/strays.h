// Names of the processes that a case left behind, and what /proc/PID/stat says of one. What cannot be read may be
// alive.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/result.h"
#include "harness/process/proc_reader.h"

namespace proctor {

struct ProcessStat {
  char state = '?';
  std::int64_t cpu_ticks = 0;    // of all its threads, and of the children that it has waited for
  int threads = 0;               // that have not been reaped
  std::uint64_t start_time = 0;  // in clock ticks since the machine started
};

Result<ProcessStat> read_stat(pid_t pid);

// Nothing runs any more, whether somebody has reaped it or not. A process is a zombie once its first thread has ended,
// whatever the others do.
bool has_ended(const ProcessStat& stat);

// Below /proc/PID, the file that has its environment: that of another thread once the first one has ended.
std::string environ_file(pid_t pid);

// Whether the failure of a reading below /proc/PID means that the process is gone.
bool means_gone(const Error& error);

// Every living descendant of `guard` except `leader`; zombies do not count. At most 64 are named. Where there may be
// more, because something cannot be read, a last one without a pid says so. `children_fd` is as in guard/tree.h.
std::vector<Stray> find_strays(ProcReader& reader, pid_t guard, pid_t leader, int children_fd = -1);

// Also true of a process that nobody has reaped yet.
bool is_zombie_or_gone(pid_t pid);

// Its command line, made safe to show; its name in brackets when it has none or does not show it in time; "" when it is
// gone.
std::string command_of(ProcReader& reader, pid_t pid);

// The leader of `guard`'s case as the runner sees it: its first living child, or 0.
pid_t find_leader(pid_t guard, int children_fd = -1);

}  // namespace proctor
