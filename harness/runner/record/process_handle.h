// A handle to one process. A signal reaches this process or none, never a later process with the same pid. The handle
// uses a pidfd (Linux 5.3). If a filter refuses pidfds, as in older container engines, the start time is checked right
// before each signal. This leaves a gap of microseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

// Returns field 22 of /proc/PID/stat. Returns 0 if no such process exists, or if only its exit code remains.
std::uint64_t start_time_of(int pid);

class ProcessHandle {
 public:
  // Returns nothing if no living process has this pid and start time, or if /proc belongs to another PID namespace.
  static std::optional<ProcessHandle> open(int pid, std::uint64_t start_time);

  int pid() const { return pid_; }
  bool has_ended() const { return start_time_of(pid_) != start_time_; }
  // Returns true also for a zombie that is not reaped.
  bool wait_until_ended(Milliseconds limit) const;
  // Succeeds also if the process has ended.
  Result<void> signal(int number) const;

 private:
  ProcessHandle(int pid, std::uint64_t start_time, UniqueFd pidfd)
      : pid_(pid), start_time_(start_time), pidfd_(std::move(pidfd)) {}

  int pid_;
  std::uint64_t start_time_;
  UniqueFd pidfd_;  // empty if pidfds are refused
};

// The proof that a runner is alive. A runner holds a lock (flock) on both copies of its record. The kernel drops the
// lock when the process ends for any reason. No pid, time, boot id or host name is part of the proof: each of them can
// look different to another process of the same machine.
//
//   lock is held                                  alive
//   lock is free, and the file is the locked one  gone
//   anything else                                 unknown: the run is left alone and named
//
// The descriptor has O_CLOEXEC. A child of the runner holds the lock from fork to exec only.

// Identifies the file that has the lock. A copy of this file has another identity. The inode 0 means that no file has
// the lock.
struct LockIdentity {
  std::uint64_t file_system = 0;  // its magic number (statfs(2))
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const LockIdentity&, const LockIdentity&) = default;
};

// Locks a new file. Returns an identity without a file if its file system has no locks, or may show them to one machine
// only.
LockIdentity lock_for_life(const UniqueFd& file);

enum class RunnerState { kAlive, kEnded, kUnknown };

// The state of a runner, from its lock.
struct RunnerStatus {
  RunnerState state = RunnerState::kUnknown;
  std::string why{};  // a clause; set only if the state is unknown
};

// `locked` has the files that the runner has locked, from its record.
RunnerStatus examine_lock(const UniqueFd& file, const std::vector<LockIdentity>& locked);

}  // namespace proctor
