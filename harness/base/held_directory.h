// A scratch directory whose maker may be killed before anybody knows of it: BASE/pr-XXXXXX of a run, BASE/prp-XXXXXX of
// a probe. The maker holds a lock on it (flock) while it lives. The kernel drops the lock with the process. Whoever
// sweeps removes the directories of its own user that have the mark and no lock.
//
// The mark is the sticky bit (mode 01700). A directory without it is of another program, or on a
// file system whose locks another machine may not see. No case has a descriptor with the lock. A case that outlives
// its runner for moments writes into a directory of a run that is over. What it writes after a sweep, the next one
// removes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

inline constexpr std::string_view kRunScratch = "pr-";
inline constexpr std::string_view kProbeScratch = "prp-";

struct HeldDirectory {
  std::string path;  // "": there is none
  UniqueFd fd;       // has the lock; whatever is put over its name, this is the directory that was made
};

// Mode 01700, or 0700 without the mark. Its maker removes it and then closes `fd`.
Result<HeldDirectory> make_held_directory(const std::string& base, std::string_view prefix);

struct SweptDirectories {
  std::vector<std::string> removed;  // paths
  // What could not be removed. It lacks a directory with a mount in it, and one that a process still writes to: they stay
  // for the next sweep, and the run that left a mount has said so.
  std::vector<Error> failed;
};

// Whether a lock in this file system is valid on one machine, and on all of it. On others, a lock may be valid on the
// machine that took it and nowhere else: there another machine would sweep what a living run uses.
bool has_locks_of_one_machine(int fd);

// Removes one that the record of a dead runner names. One with the mark must be unlocked as well. False: there is no such
// directory of this user, or a process holds it.
Result<bool> sweep_held_directory(const std::string& path);

// Removes what dead processes of this user left in `bases`.
SweptDirectories sweep_held_directories(const std::vector<std::string>& bases);
// The same wherever runs of this environment make theirs: /tmp, /dev/shm and TMPDIR.
SweptDirectories sweep_held_directories();

}  // namespace proctor
