// Processes in /proc: reads that must not block, the state of a process, leaked processes, open sockets.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/journal/events.h"

namespace proctor {

// Reads files of /proc/PID that wait for a lock of that process: the lock of its address space (cmdline,
// environ, maps) or of its exec (syscall, stack). A process that hangs in mmap() holds the first lock, and
// would block the event loop of the reader. A separate thread therefore reads. A thread that does not finish
// in time is abandoned. Its wait is killable (fs/proc/base.c), so it ends with the process that it reads, or
// with this one.
//
// comm, stat, status, cgroup, children and the links exe, cwd and fd/N never block. Read them directly.
//
// For use from one thread. A call blocks for at most `patience`, and all calls together for kMostLeftBehind
// times that.
class ProcReader {
 public:
  static constexpr std::size_t kMostLeftBehind = 8;

  explicit ProcReader(Milliseconds patience = Milliseconds(100)) : patience_(patience) {}

  // The file `name` of /proc/`pid`. ETIMEDOUT: it took too long, or an earlier read of that process or too
  // many other reads are unfinished. Try again later.
  Result<std::string> read(pid_t pid, const std::string& name);

 private:
  struct Reading;

  Milliseconds patience_;
  std::vector<std::shared_ptr<Reading>> left_behind_;
};

// ---- Leaked processes, and the content of /proc/PID/stat ----
// A process that cannot be read counts as alive.

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
bool means_lost(const Error& error);

// Every living descendant of `guard` except `leader`, without zombies. At most 64. If there may be more
// because something cannot be read, the last entry has no pid. `children_fd` is as in guard/tree.h.
std::vector<LeakedProcess> find_leaked_processes(ProcReader& reader, pid_t guard, pid_t leader,
                                                 int children_fd = -1);

// Also true for a process that has not been reaped.
bool is_zombie_or_ended(pid_t pid);

// Its command line, safe to print. Its name in brackets if it has none, or if it cannot be read in time. ""
// if the process is gone.
std::string command_of(ProcReader& reader, pid_t pid);

// The leader of `guard`'s case as the runner sees it: its first living child, or 0.
pid_t find_leader(pid_t guard, int children_fd = -1);

// ---- Who is at the other end of a TCP connection over loopback ----
// The kernel names the process at the other end of a socket in the file system, but not that of TCP. So
// the other end is looked up in /proc/net/tcp, and then among the open files of the processes that it may
// belong to. Nothing here blocks.

// The inode of the socket at the other end of `connection`, an IPv4 socket. 0: it has been closed, so that nobody can
// say whose it was. None: the list cannot be read.
std::optional<std::uint64_t> inode_of_peer(int connection);

// Whether a descendant of `guard` has the socket open. `children_fd` is as in guard/tree.h. A process whose files
// cannot be read does not have it.
bool tree_holds_socket(pid_t guard, std::uint64_t inode, int children_fd = -1);

}  // namespace proctor
