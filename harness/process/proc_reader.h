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
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"

namespace proctor {

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

}  // namespace proctor
