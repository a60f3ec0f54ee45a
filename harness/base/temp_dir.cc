#include "harness/base/temp_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "harness/base/read_file.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 60;
// limit, because another process can create directories during the removal
constexpr int kMostRounds = 10'000;
constexpr int kDirectory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::uint64_t random_number() {
  std::uint64_t random = 0;
  static_cast<void>(!::getrandom(&random, sizeof random, 0));
  return random;
}

std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// Returns the mount id of the file from /proc, or "" if the kernel does not report one.
std::string mount_of(int fd) {
  constexpr const char* kKey = "mnt_id:";
  const std::string info = read_file_or_empty("/proc/self/fdinfo/" + std::to_string(fd));
  const std::size_t at = info.find(kKey);
  return at == std::string::npos ? "" : info.substr(at, info.find('\n', at) - at);
}

// Opens a directory if the kernel does not have openat2(2), or if an old container filter refuses it. A bind
// mount can have the same device number as its parent, so the mount ids are compared, too.
UniqueFd open_and_compare(int directory, const char* name) {
  UniqueFd fd(::openat(directory, name, kDirectory));
  struct stat above {
  }, here{};
  if (!fd || ::fstat(directory, &above) != 0 || ::fstat(fd.get(), &here) != 0) return {};
  if (above.st_dev == here.st_dev && mount_of(directory) == mount_of(fd.get())) return fd;
  errno = EXDEV;
  return {};
}

UniqueFd open_here(int directory, const char* name) {
  open_how how{};
  how.flags = kDirectory;
  how.resolve = RESOLVE_NO_XDEV;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, directory, name, &how, sizeof how)));
  if (fd || (errno != ENOSYS && errno != EPERM)) return fd;
  return open_and_compare(directory, name);
}

// Restores the owner's permissions, because a test can leave directories without them. Only a test of root
// can leave directories of other users.
void open_up(const UniqueFd& directory) {
  struct stat info {};
  if (::fstat(directory.get(), &info) == 0 && (info.st_mode & S_IRWXU) != S_IRWXU)
    static_cast<void>(!::chmod(path_of(directory.get()).c_str(), (info.st_mode & 07777U) | S_IRWXU));
}

UniqueFd open_for_reading(const UniqueFd& directory) {
  open_up(directory);
  return UniqueFd(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

Error cannot_remove(const std::string& path, int err) {
  // A single file can be a mount, too. Its removal fails with EBUSY.
  if (err != EXDEV && err != EBUSY) return Error::system("remove " + path, err);
  return {ErrorKind::kSystem, "remove " + path + ": another file system is mounted there, and is not removed",
          "", err};
}

class TreeRemover {
 public:
  // Removes everything below `top`, which is open for reading.
  Result<void> empty(const UniqueFd& top, const std::string& shown) {
    top_ = top.get();
    moved_ = true;
    for (int round = 0; moved_ && round < kMostRounds; ++round) {
      moved_ = false;
      empty_one(top_, shown, 0);
    }
    if (moved_) fail(shown, ENOTEMPTY);
    return failed_ ? Result<void>(*failed_) : Result<void>();
  }

 private:
  void empty_one(int directory, const std::string& shown, int depth) {
    for (const std::string& name : names_in(directory, shown))
      remove(directory, name, shown + "/" + name, depth);
  }

  void remove(int directory, const std::string& name, const std::string& shown, int depth) {
    if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return;
    const int why = errno;
    const UniqueFd below = open_here(directory, name.c_str());
    if (!below) return fail(shown, errno == ENOTDIR || errno == ELOOP ? why : errno);
    const UniqueFd readable = open_for_reading(below);
    if (readable && depth == kDeepest) return move_up(directory, name, shown);
    if (!readable) return fail(shown, errno);
    empty_one(readable.get(), shown, depth + 1);
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) fail(shown, errno);
  }

  // Moves a deep directory to the top, where the next round removes it.
  void move_up(int directory, const std::string& name, const std::string& shown) {
    const std::string here = prefix_ + std::to_string(next_++);
    if (::renameat(directory, name.c_str(), top_, here.c_str()) != 0) return fail(shown, errno);
    moved_ = true;
  }

  std::vector<std::string> names_in(int directory, const std::string& shown) {
    std::vector<std::string> names;
    UniqueFd again(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(again ? ::fdopendir(again.get()) : nullptr, &::closedir);
    if (!stream) {
      fail(shown, errno);
      return names;
    }
    static_cast<void>(again.release());
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    return names;
  }

  void fail(const std::string& path, int err) {
    if (failed_ && err == ENOTEMPTY) return;  // the error of an entry in it was reported before
    if (!failed_) failed_ = cannot_remove(path, err);
  }

  int top_ = -1;
  bool moved_ = false;
  const std::string prefix_ = fmt::format(".deep-{:016x}-", random_number());
  std::uint64_t next_ = 0;
  std::optional<Error> failed_;
};

}  // namespace

Result<UniqueFd> open_directory_here(int directory, const std::string& name, const std::string& shown) {
  UniqueFd fd = open_here(directory, name.c_str());
  if (!fd) return cannot_remove(shown, errno);
  return fd;
}

Result<void> empty_directory_at(int directory, const std::string& name, const std::string& shown) {
  const auto below = open_directory_here(directory, name, shown);
  if (!below) return below.error();
  const UniqueFd readable = open_for_reading(*below);
  if (!readable) return Error::system("empty " + shown, errno);
  return TreeRemover().empty(readable, shown);
}

Result<void> remove_tree_at(int directory, const std::string& name, const std::string& shown) {
  if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  const int why = errno;
  const auto emptied = empty_directory_at(directory, name, shown);
  if (!emptied) {
    const int err = emptied.error().sys_errno;
    return err == ENOTDIR || err == ELOOP ? cannot_remove(shown, why) : emptied.error();
  }
  if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return cannot_remove(shown, errno);
  return {};
}

Result<void> remove_tree(const std::string& path) {
  fs::path whole = fs::path(path).lexically_normal();
  if (whole.filename().empty()) whole = whole.parent_path();
  const fs::path parent = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  const UniqueFd directory(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return errno == ENOENT ? Result<void>() : Error::system("remove " + path, errno);
  return remove_tree_at(directory.get(), whole.filename().string(), path);
}

}  // namespace proctor
