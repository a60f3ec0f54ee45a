// Reads files below /proc/PID that wait for a lock of that process: that of its address space (cmdline, environ, maps) or
// of its exec (syscall, stack). A process that is stuck in mmap() holds the first one, and whoever reads sleeps until it
// lets go, deaf to every timer of his loop. So a thread reads. One that does not answer in time is left behind: its sleep
// is killable (fs/proc/base.c), so that it ends with the process that it asked for, or with this one.
//
// comm, stat, status, cgroup, children and the links exe, cwd and fd/N wait for nothing, and need none of this.
//
// For one thread. A call takes at most the patience, and all of them together the patience of kMostLeftBehind.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/core/duration.h"
#include "harness/core/result.h"

namespace proctor {

class ProcReader {
 public:
  static constexpr std::size_t kMostLeftBehind = 8;

  explicit ProcReader(Milliseconds patience = Milliseconds(100)) : patience_(patience) {}

  // The file `name` of /proc/`pid`. ETIMEDOUT: it did not come in time, or an earlier one of that process has not come
  // yet, or too many others have not; ask again later.
  Result<std::string> read(pid_t pid, const std::string& name);

 private:
  struct Reading;

  Milliseconds patience_;
  std::vector<std::shared_ptr<Reading>> left_behind_;
};

}  // namespace proctor
