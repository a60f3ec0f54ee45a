// The pid of a test process in its PID namespace. Tests name files, ports and shared memory by their pid, and
// cases share /tmp, /dev/shm and the network: two cases at once must not have the same pid.
//
// The pid of the guard outside is unique. The pid of the test process is this pid multiplied by a constant, modulo
// the number of pids: that is unique too, and leaves the next pids to the child processes of the case. Guards that
// start one after the other have pids side by side, and get numbers that are far apart (Knuth, The Art of Computer
// Programming 3, 6.4, theorem S).
#pragma once

#include <cstdint>

namespace proctor {

class CasePids {
 public:
  CasePids() = default;  // of() returns 0
  // `pid_max`: of /proc/sys/kernel/pid_max.
  explicit CasePids(std::uint64_t pid_max);

  // 0: this guard has no such pid.
  std::uint64_t of(std::uint64_t guard) const {
    if (range_ == 0 || guard == 0) return 0;
    const std::uint64_t pid = guard % range_ * factor_ % range_;
    return pid > 1 ? pid : 0;  // 1 is the guard
  }

 private:
  std::uint64_t range_ = 0;
  std::uint64_t factor_ = 0;
};

// It reads the limit of the kernel. If that fails, of() returns 0.
CasePids case_pids_here();

}  // namespace proctor
