#include "harness/base/held_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

constexpr mode_t kPrivate = 0700;
constexpr mode_t kMarked = 01700;
constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr std::size_t kRandomPart = 6;
constexpr int kMostTries = 100;

std::string random_name(std::string_view prefix) {
  std::array<std::uint8_t, kRandomPart> random{};
  static_cast<void>(!::getrandom(random.data(), random.size(), 0));
  std::string name(prefix);
  for (const std::uint8_t byte : random) name += kAlphabet[byte % kAlphabet.size()];
  return name;
}

bool has_our_form(std::string_view name) {
  for (const std::string_view prefix : {kRunScratch, kProbeScratch}) {
    if (!name.starts_with(prefix) || name.size() != prefix.size() + kRandomPart) continue;
    return name.find_first_not_of(kAlphabet, prefix.size()) == std::string_view::npos;
  }
  return false;
}

UniqueFd open_base(const std::string& base) {
  return UniqueFd(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool is_at(int base, const std::string& name, int directory) {
  struct stat there {
  }, held{};
  return ::fstatat(base, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 && ::fstat(directory, &held) == 0 &&
         there.st_dev == held.st_dev && there.st_ino == held.st_ino;
}

bool is_ours_and_marked(const struct stat& info) {
  return S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & 07777U) == kMarked;
}

// Takes the lock without waiting, because a test could hold it indefinitely.
bool lock(const UniqueFd& directory) { return directory && ::flock(directory.get(), LOCK_EX | LOCK_NB) == 0; }

// Opens and locks a new directory. A sweep can run between mkdir() and flock(). Then the directory is locked
// (EWOULDBLOCK) or no longer exists at its name (ENOENT), and the caller tries another name. A sweep compares
// the name with the directory while it holds the lock. Therefore a directory that this function returns is
// never swept.
UniqueFd hold(int base, const std::string& name, bool marked) {
  UniqueFd directory(::openat(base, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory || !marked) return directory;
  if (!lock(directory)) return {};
  if (is_at(base, name, directory.get())) return directory;
  errno = ENOENT;
  return {};
}

// Empties the directory that was checked and locked, even if its name has changed since then. The removal by
// name can only remove an empty directory.
Result<void> remove_locked(int base, const std::string& name, int directory, const std::string& shown) {
  if (auto emptied = empty_directory_at(directory, ".", shown); !emptied) return emptied;
  if (::unlinkat(base, name.c_str(), AT_REMOVEDIR) != 0) return Error::system("remove " + shown, errno);
  return {};
}

void sweep_one(int base, const std::string& name, const std::string& shown, SweptDirectories& swept) {
  struct stat info {};
  if (::fstatat(base, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !is_ours_and_marked(info)) return;
  const auto here = open_directory_here(base, name, shown);  // not a link, not a mount
  if (!here) return;
  const UniqueFd directory(::openat(here->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock(directory) || !is_at(base, name, directory.get())) return;
  const auto removed = remove_locked(base, name, directory.get(), shown);
  if (removed) {
    swept.removed.push_back(shown);
  } else if (const int err = removed.error().sys_errno; err != EXDEV && err != EBUSY && err != ENOTEMPTY) {
    swept.failed.push_back(removed.error());
  }
}

void sweep_base(const std::string& base, SweptDirectories& swept) {
  UniqueFd directory = open_base(base);
  if (!directory || !has_locks_of_one_machine(directory.get())) return;
  const int fd = directory.get();
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd), &::closedir);
  if (!entries) return;
  static_cast<void>(directory.release());
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (has_our_form(entry->d_name)) names.emplace_back(entry->d_name);
  }
  for (const std::string& name : names) sweep_one(fd, name, base + "/" + name, swept);
}

}  // namespace

bool has_locks_of_one_machine(int fd) {
  constexpr std::uint32_t kZfs = 0x2fc12fc1;
  constexpr std::uint32_t kXfs = 0x58465342;
  struct statfs info {};
  if (::fstatfs(fd, &info) != 0) return false;
  const std::array<std::uint32_t, 8> known{TMPFS_MAGIC,       RAMFS_MAGIC,           EXT4_SUPER_MAGIC, kXfs,
                                           BTRFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, kZfs};
  return std::ranges::find(known, static_cast<std::uint32_t>(info.f_type)) != known.end();
}

Result<bool> sweep_held_directory(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) return false;
  UniqueFd held;
  if (is_ours_and_marked(info)) {
    held = UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!lock(held)) return false;
  }
  if (const auto removed = remove_tree(path); !removed) return removed.error();
  return true;
}

Result<HeldDirectory> make_held_directory(const std::string& base, std::string_view prefix) {
  const std::string shown = base + "/" + std::string(prefix) + "XXXXXX";
  const UniqueFd parent = open_base(base);
  if (!parent) return Error::system("create scratch directory " + shown, errno);
  const bool marked = has_locks_of_one_machine(parent.get());
  for (int tries = 0; tries < kMostTries; ++tries) {
    const std::string name = random_name(prefix);
    if (::mkdirat(parent.get(), name.c_str(), marked ? kMarked : kPrivate) != 0) {
      if (errno == EEXIST) continue;
      return Error::system("create scratch directory " + shown, errno);
    }
    UniqueFd held = hold(parent.get(), name, marked);
    if (held) return HeldDirectory{.path = base + "/" + name, .fd = std::move(held)};
    const int why = errno;
    ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
    if (why != ENOENT && why != EWOULDBLOCK) return Error::system("open scratch directory " + shown, why);
  }
  return Error::system("keep scratch directory " + shown, EBUSY);
}

SweptDirectories sweep_held_directories(const std::vector<std::string>& bases) {
  SweptDirectories swept;
  for (const std::string& base : bases) sweep_base(base, swept);
  return swept;
}

SweptDirectories sweep_held_directories() {
  std::vector<std::string> bases = {"/tmp", "/dev/shm"};
  if (const char* tmpdir = std::getenv("TMPDIR");
      tmpdir != nullptr && *tmpdir == '/' && std::ranges::find(bases, tmpdir) == bases.end())
    bases.emplace_back(tmpdir);
  return sweep_held_directories(bases);
}

}  // namespace proctor
