// The process tree below a subreaper, read from /proc. Orphans are adopted by the subreaper, so everything
// that a case ever started hangs below its guard. Used by the guard (to signal) and by the runner (to name
// strays). The guard links no C++ library (see CMakeLists.txt), hence no standard container here.
//
// What cannot be read is not empty: a list says whether it is whole. A case may take the right to open files from its
// guard and its runner (prlimit), so both open the list of their own children before the case starts. That alone is
// enough to end everything: what is killed leaves its children to the subreaper.
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
    why_not_whole_ = other.why_not_whole_;
  }
  PidList(const PidList&) = delete;
  PidList& operator=(const PidList&) = delete;

  // If there is no memory, the pid is left out, and the list is not whole.
  void push(pid_t pid);
  void miss(int err) { why_not_whole_ = err; }
  // 0, or the errno of a reading that failed: then there may be more of them.
  int why_not_whole() const { return why_not_whole_; }
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  pid_t operator[](size_t i) const { return pids_[i]; }
  const pid_t* begin() const { return pids_; }
  const pid_t* end() const { return pids_ + size_; }

 private:
  pid_t* pids_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  int why_not_whole_ = 0;
};

// A descriptor of the kernel's list of the children of `pid`'s first thread, which also adopts the orphans; -1 with
// errno. It can be read any number of times.
int open_children(pid_t pid);

// What `children_fd` of open_children() lists now, living or unreaped.
PidList read_children(int children_fd);

// All living or unreaped descendants of `root`, parents before children. A process that forks meanwhile may
// be missed; callers repeat until nothing is left. Needs CONFIG_PROC_CHILDREN (probed with the layer). The children
// of `root` are read from `children_fd` where it is given; then those of its other threads do not count.
PidList descendants(pid_t root, int children_fd = -1);

// Sends `signal` to every descendant of `root`. A pid that was reused between reading and sending is not hit:
// the process is pinned by a pidfd and must still be a descendant before the signal goes out. A child of the caller
// has its pid until it is reaped: it is hit even where nothing can be opened.
void signal_descendants(pid_t root, int signal, int children_fd = -1);

// A child of this process that has not been reaped. Nothing else can be told from one that got its pid.
bool is_own_child(pid_t pid);

}  // namespace proctor::guard
