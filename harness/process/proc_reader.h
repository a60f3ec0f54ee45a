// Reads processes in /proc: reads that must not block, the state of a process, leaked processes, open
// sockets.
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

  // Reads the file `name` of /proc/`pid`. ETIMEDOUT: the read took too long, or an earlier read of that
  // process or too many other reads are unfinished. Try again later.
  Result<std::string> read(pid_t pid, const std::string& name);

 private:
  struct Reading;

  Milliseconds patience_;
  std::vector<std::shared_ptr<Reading>> left_behind_;
};

// ---- Leaked processes, and the content of /proc/PID/stat ----
// A process that cannot be read counts as alive.

// Fields of /proc/PID/stat.
struct ProcessStat {
  char state = '?';
  std::int64_t cpu_ticks = 0;    // of all threads, and of the children that the process waited for
  int threads = 0;               // threads that have not been reaped
  std::uint64_t start_time = 0;  // in clock ticks since the machine started
};

Result<ProcessStat> read_stat(pid_t pid);

// Returns true if no thread runs any more, even if the process has not been reaped. The state alone is not
// enough: a process is a zombie once its first thread has ended, even if others run.
bool has_ended(const ProcessStat& stat);

// Returns the file with the environment, relative to /proc/PID: that of another thread if the first one has
// ended.
std::string environ_file(pid_t pid);

// Returns true if the error of a read of /proc/PID means that the process has ended.
bool means_lost(const Error& error);

// Returns every living descendant of `guard` except `leader`, without zombies. At most 64 are returned. If
// more may exist because a file cannot be read, the last entry has no pid. `children_fd` is as in
// guard/tree.h.
std::vector<LeakedProcess> find_leaked_processes(ProcReader& reader, pid_t guard, pid_t leader,
                                                 int children_fd = -1);

// Returns true if the process has ended, reaped or not.
bool is_zombie_or_ended(pid_t pid);

// Returns the command line, safe to print. If the process has no command line, or the read takes too long,
// returns its name in brackets. Returns "" if the process has ended.
std::string command_of(ProcReader& reader, pid_t pid);

// Returns the leader of `guard`'s case as the runner sees it: its first living child, or 0.
pid_t find_leader(pid_t guard, int children_fd = -1);

// ---- The other end of a TCP connection over loopback ----
// The kernel reports the process at the other end of a Unix socket, but not of a TCP connection. These
// functions search for the other end in /proc/net/tcp, and then among the open files of the processes of a
// case. They do not block.

// Returns the inode of the socket at the other end of `connection`, an IPv4 socket. 0: that socket has been
// closed, so its owner is unknown. nullopt: the list cannot be read.
std::optional<std::uint64_t> inode_of_peer(int connection);

// Returns true if a descendant of `guard` has the socket open. `children_fd` is as in guard/tree.h. A process
// whose files cannot be read counts as not having it.
bool tree_holds_socket(pid_t guard, std::uint64_t inode, int children_fd = -1);

}  // namespace proctor
