// The process tree below a subreaper, read from /proc. Orphans are adopted by the subreaper, so everything
// that a case ever started hangs below its guard. Used by the guard (to signal) and by the runner (to name
// strays). The guard links no C++ library (see CMakeLists.txt), hence no standard container here.
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>

namespace proctor::guard {

class PidList {
 public:
  PidList() = default;
  ~PidList() { free(pids_); }
  PidList(PidList&& other) noexcept : pids_(other.pids_), size_(other.size_), capacity_(other.capacity_) {
    other.pids_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  PidList(const PidList&) = delete;
  PidList& operator=(const PidList&) = delete;

  // If there is no memory, the pid is left out, like one that was forked too late. Callers repeat the
  // reading.
  void push(pid_t pid);
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  pid_t operator[](size_t i) const { return pids_[i]; }
  const pid_t* begin() const { return pids_; }
  const pid_t* end() const { return pids_ + size_; }

 private:
  pid_t* pids_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// All living or unreaped descendants of `root`, parents before children. A process that forks meanwhile may
// be missed; callers repeat until nothing is left. Needs CONFIG_PROC_CHILDREN (probed with the layer).
PidList descendants(pid_t root);

// The letter of /proc/PID/stat: 'T' stopped, 'Z' ended and not reaped, ...; 0 when there is no such process.
char process_state(pid_t pid);

// Sends `signal` to every descendant of `root`. A pid that was reused between reading and sending is not hit:
// the process is pinned by a pidfd and must still be a descendant before the signal goes out.
void signal_descendants(pid_t root, int signal);

}  // namespace proctor::guard
