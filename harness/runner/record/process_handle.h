// One process, and never another one that has got its pid: a signal reaches this process or nobody. A pidfd
// holds it (Linux 5.3). If a filter refuses pidfds, as older container engines do, the identity is checked
// right before each signal, which leaves a gap of microseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  bool has_ended() const { return start_time_of(pid_) != start_time_; }
  // Also true if it is a zombie that nobody reaps.
  bool wait_until_ended(Milliseconds limit) const;
  // It is no error if the process has ended.
  Result<void> signal(int number) const;

 private:
  ProcessHandle(int pid, std::uint64_t start_time, UniqueFd pidfd)
      : pid_(pid), start_time_(start_time), pidfd_(std::move(pidfd)) {}

  int pid_;
  std::uint64_t start_time_;
  UniqueFd pidfd_;  // empty where they are refused
};

// The proof that a runner lives. A runner holds a lock (flock) on both copies of its record. The kernel drops the lock
// when the process ends, whatever ends it. No pid, time, boot id or host name is part of the proof: each of them can
// look different to another process of the same machine.
//
//   lock is held                                  alive
//   lock is free, and the file is the locked one  gone
//   anything else                                 unknown: whoever cleans up leaves the run alone and names it
//
// The descriptor has O_CLOEXEC. A child of the runner holds the lock from fork to exec only.

// Which file has the lock. A copy of that file is another file. An inode of 0 is no file.
struct LockIdentity {
  std::uint64_t file_system = 0;  // its magic number (statfs(2))
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const LockIdentity&, const LockIdentity&) = default;
};

// Locks a new file. The result names no file if its file system has no locks, or may show them to one machine only.
LockIdentity lock_for_life(const UniqueFd& file);

enum class RunnerState { kAlive, kEnded, kUnknown };

struct RunnerStatus {
  RunnerState state = RunnerState::kUnknown;
  std::string why{};  // only if unknown: a clause
};

// `locked`: the files that the runner has locked, by its record.
RunnerStatus examine_lock(const UniqueFd& file, const std::vector<LockIdentity>& locked);

}  // namespace proctor
