// Scratch directories that are removed later if their creator is killed: BASE/pr-XXXXXX of a run,
// BASE/prp-XXXXXX of a probe. The creator holds a lock (flock) on the directory. The kernel releases the lock
// when the process ends. A sweep removes the directories of its own user that have the mark and no lock.
//
// The mark is the sticky bit (mode 01700). A directory without the mark belongs to another program, or is on
// a file system whose locks another machine may not see. Cases do not inherit the descriptor with the lock. A
// case that outlives its runner for moments can write into a swept directory. The next sweep removes the
// files that it writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

inline constexpr std::string_view kRunScratch = "pr-";
inline constexpr std::string_view kProbeScratch = "prp-";

// A scratch directory with its lock.
struct HeldDirectory {
  std::string path;  // "": no directory
  UniqueFd fd;       // holds the lock; refers to the created directory even if its name is replaced
};

// Creates a directory with mode 01700, or 0700 without the mark. The creator removes it and then closes `fd`.
Result<HeldDirectory> make_held_directory(const std::string& base, std::string_view prefix);

// The result of a sweep.
struct SweptDirectories {
  std::vector<std::string> removed;  // paths
  // Directories that could not be removed. A directory with a mount in it is not listed; the run that left
  // the mount has reported it. A directory that a process still writes to is not listed either. Both stay for
  // the next sweep.
  std::vector<Error> failed;
};

// Returns whether a lock in this file system excludes all processes of one machine, and no others. On other
// file systems a lock can be invisible to other machines. Another machine would then sweep a directory that a
// running process uses.
bool has_locks_of_one_machine(int fd);

// Removes a directory that the record of a dead runner names. If it has the mark, it must also be unlocked.
// Returns false if this user has no such directory, or if a process holds it.
Result<bool> sweep_held_directory(const std::string& path);

// Removes the directories in `bases` whose creators have ended. Only directories of this user are removed.
SweptDirectories sweep_held_directories(const std::vector<std::string>& bases);
// Sweeps all bases that runs in this environment use: /tmp, /dev/shm and TMPDIR.
SweptDirectories sweep_held_directories();

}  // namespace proctor
