// One process, and never another one that has got its pid: a signal reaches this process or nobody. A pidfd
// holds it (Linux 5.3). If a filter refuses pidfds, as older container engines do, the identity is checked
// right before each signal, which leaves a gap of microseconds.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

// Field 22 of /proc/PID/stat; 0 if there is no such process, or if only its exit code is left.
std::uint64_t start_time_of(int pid);

class ProcessHandle {
 public:
  // None if no living process has that pid and that start time, or if /proc is of another PID namespace.
  static std::optional<ProcessHandle> open(int pid, std::uint64_t start_time);

  int pid() const { return pid_; }
  bool gone() const { return start_time_of(pid_) != start_time_; }
  // Also true if it is a zombie that nobody reaps.
  bool wait_until_gone(Milliseconds limit) const;
  // It is no error if the process has ended.
  Result<void> signal(int number) const;

 private:
  ProcessHandle(int pid, std::uint64_t start_time, UniqueFd pidfd)
      : pid_(pid), start_time_(start_time), pidfd_(std::move(pidfd)) {}

  int pid_;
  std::uint64_t start_time_;
  UniqueFd pidfd_;  // empty where they are refused
};

}  // namespace proctor
