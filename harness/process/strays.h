// Leaked processes of a case, and the content of /proc/PID/stat. A process that cannot be read counts as
// alive.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "harness/process/proc_reader.h"

namespace proctor {

struct ProcessStat {
  char state = '?';
  std::int64_t cpu_ticks = 0;    // of all its threads, and of the children that it waited for
  int threads = 0;               // that have not been reaped
  std::uint64_t start_time = 0;  // in clock ticks since the machine started
};

Result<ProcessStat> read_stat(pid_t pid);

// Whether no thread runs any more. It may not have been reaped. The state alone is not enough: a process is a
// zombie once its first thread has ended, even if others run.
bool has_ended(const ProcessStat& stat);

// The file with its environment, relative to /proc/PID: that of another thread if the first one has ended.
std::string environ_file(pid_t pid);

// Whether a failed read of /proc/PID means that the process is gone.
bool means_gone(const Error& error);

// Every living descendant of `guard` except `leader`, without zombies. At most 64. If there may be more
// because something cannot be read, the last entry has no pid. `children_fd` is as in guard/tree.h.
std::vector<Stray> find_strays(ProcReader& reader, pid_t guard, pid_t leader, int children_fd = -1);

// Also true for a process that has not been reaped.
bool is_zombie_or_gone(pid_t pid);

// Its command line, safe to print. Its name in brackets if it has none, or if it cannot be read in time. ""
// if the process is gone.
std::string command_of(ProcReader& reader, pid_t pid);

// The leader of `guard`'s case as the runner sees it: its first living child, or 0.
pid_t find_leader(pid_t guard, int children_fd = -1);

}  // namespace proctor
