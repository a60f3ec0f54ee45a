// The proof that a runner lives. A runner holds a lock (flock) on both copies of its record. The kernel drops the lock
// when the process ends, whatever ends it. No pid, time, boot id or host name is part of the proof: each of them can
// look different to another process of the same machine.
//
//   lock is held                                  alive
//   lock is free, and the file is the locked one  gone
//   anything else                                 unknown: whoever cleans up leaves the run alone and names it
//
// The descriptor has O_CLOEXEC. A child of the runner holds the lock from fork to exec only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/unique_fd.h"

namespace proctor {

// Which file has the lock. A copy of that file is another file. An inode of 0 is no file.
struct LockIdentity {
  std::uint64_t file_system = 0;  // its magic number (statfs(2))
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const LockIdentity&, const LockIdentity&) = default;
};

// Locks a new file. The result names no file if its file system has no locks, or may show them to one machine only.
LockIdentity lock_for_life(const UniqueFd& file);

enum class RunnerState { kAlive, kGone, kUnknown };

struct RunnerLook {
  RunnerState state = RunnerState::kUnknown;
  std::string why{};  // only if unknown: a clause
};

// `locked`: the files that the runner has locked, by its record.
RunnerLook look_at_lock(const UniqueFd& file, const std::vector<LockIdentity>& locked);

}  // namespace proctor
