// Reads the process tree of a subreaper from /proc. The subreaper adopts orphans, so all processes of a case
// are descendants of its guard. The guard uses it to signal them, and the runner to name leaked processes.
// The guard links no C++ library (see CMakeLists.txt), so standard containers are not available here.
//
// A list that cannot be read does not count as empty: it records whether it is complete. A case may lower the
// limit of open files of its guard and its runner (prlimit). Both therefore open the list of their own
// children before the case starts. This list is enough to kill all processes, because the subreaper adopts
// the children of killed ones. A case may also lower the guard's memory limit. The guard therefore allocates
// the memory of its lists before the case starts.
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>

namespace proctor::guard {

// A list of pids that records whether it is complete.
class PidList {
 public:
  PidList() = default;
  // Uses memory of the caller, which must outlive the list, and never allocates.
  PidList(pid_t* memory, size_t capacity) : pids_(memory), capacity_(capacity), grows_(false) {}
  ~PidList() {
    if (grows_) free(pids_);
  }
  PidList(PidList&& other) noexcept
      : pids_(other.pids_),
        size_(other.size_),
        capacity_(other.capacity_),
        grows_(other.grows_),
        why_not_whole_(other.why_not_whole_) {
    other.pids_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  PidList(const PidList&) = delete;
  PidList& operator=(const PidList&) = delete;

  // Adds a pid. If no memory is left, the pid is not added, and the list is incomplete.
  void push(pid_t pid);
  void miss(int err) { why_not_whole_ = err; }
  // 0, or the errno of a failed read: more processes may then exist.
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
  bool grows_ = true;
  int why_not_whole_ = 0;
};

// Returns a descriptor of the kernel's list of the children of `pid`'s first thread, which also adopts
// orphans; -1 with errno. It can be read repeatedly.
int open_children(pid_t pid);

// Returns the current children in `children_fd` of open_children(), living or unreaped.
PidList read_children(int children_fd);

// Returns all living or unreaped descendants of `root`, parents before children. It can miss a process that
// forks at the same time, so callers repeat it until the list is empty. It needs CONFIG_PROC_CHILDREN (probed
// with the layer). If `children_fd` is given, it lists the children of `root`; those of other threads are
// then not included. The pids are added to `found`, which must be empty.
PidList descendants(pid_t root, int children_fd = -1, PidList found = {});

// Sends `signal` to every descendant of `root`. A reused pid is not signalled: a pidfd holds the process, and
// it must still be a descendant. A child of the caller keeps its pid until it is reaped, so it is signalled
// even if no file can be opened. `memory`: an empty list for the pids.
void signal_descendants(pid_t root, int signal, int children_fd = -1, PidList memory = {});

// Adds the thread ids of `pid`.
void append_threads(pid_t pid, PidList& out);

// Returns true if `pid` is a child of this process that has not been reaped. Any other pid could have been
// reused.
bool is_own_child(pid_t pid);

}  // namespace proctor::guard
