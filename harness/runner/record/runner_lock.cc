#include "harness/runner/record/runner_lock.h"

#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>

#include "harness/base/held_directory.h"

namespace proctor {
namespace {

LockIdentity identify(const UniqueFd& file) {
  struct stat info {};
  struct statfs system {};
  if (::fstat(file.get(), &info) != 0 || ::fstatfs(file.get(), &system) != 0) return {};
  return {
      .file_system = static_cast<std::uint32_t>(system.f_type), .device = info.st_dev, .inode = info.st_ino};
}

// An overlay and its layers show one file with several locks. Elsewhere a restart may change the device number.
bool is_locked_one(const LockIdentity& file, const std::vector<LockIdentity>& locked) {
  return std::ranges::any_of(locked, [&](const LockIdentity& one) {
    return file.inode != 0 && one.inode == file.inode && one.file_system == file.file_system &&
           (one.device == file.device || one.file_system != OVERLAYFS_SUPER_MAGIC);
  });
}

}  // namespace

LockIdentity lock_for_life(const UniqueFd& file) {
  if (!has_locks_of_one_machine(file.get()) || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return identify(file);
}

// A shared lock, and for a moment: two that look at once do not disturb each other.
RunnerLook look_at_lock(const UniqueFd& file, const std::vector<LockIdentity>& locked) {
  if (::flock(file.get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return {.state = RunnerState::kAlive};
    return {.why = "the file system of its record has no locks"};
  }
  ::flock(file.get(), LOCK_UN);
  if (locked.empty()) return {.why = "its runner has no lock on its record"};
  if (!is_locked_one(identify(file), locked))
    return {.why = "its record is not the file that its runner locked"};
  return {.state = RunnerState::kGone};
}

}  // namespace proctor
