#include "harness/devices/leases/lease.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>  // RENAME_NOREPLACE; musl has neither this constant nor the function
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "harness/base/clock.h"
#include "harness/base/json.h"
#include "harness/base/read_file.h"
#include "harness/base/surroundings.h"
#include "harness/base/user_name.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr std::size_t kMostText = 2'000;        // of a text for people in a record
constexpr std::size_t kMaxRecord = 256 * 1024;  // the most bytes that are read of a file
constexpr const char* kSuffix = ".lease";
constexpr mode_t kForEverybody = 0666;
constexpr const char* kEverybodys = "/run/lock";
// The initial PID namespace has this inode (PROC_PID_INIT_INO); that of a container has another one.
constexpr ino_t kHostPidNamespace = 0xEFFFFFFC;

// Read only once: the id is constant, and to read it would take a quarter of the time of a lease.
const std::string& boot_id() {
  static const std::string id = [] {
    auto text = read_file("/proc/sys/kernel/random/boot_id");
    if (!text) return std::string();
    std::erase(*text, '\n');
    return *text;
  }();
  return id;
}

// Creates a directory or a file under a temporary name, sets its mode, and then gives it its name. The umask
// reduces the modes of mkdir and open, so another user who opens the path in between would be refused.
// Returns true also if another process was faster; else errno has the reason.
bool make_shared_directory(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return true;
  std::string draft = path + ".XXXXXX";
  if (mkdtemp(draft.data()) == nullptr) return false;
  const bool made =
      chmod(draft.c_str(), 01777) == 0 &&
      syscall(SYS_renameat2, AT_FDCWD, draft.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0;
  const int why = errno;
  if (!made) rmdir(draft.c_str());
  errno = why;
  return made || (why == EEXIST && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode));
}

bool make_shared_file(const std::string& path) {
  std::string draft = path + ".XXXXXX";
  const UniqueFd fd(mkostemp(draft.data(), O_CLOEXEC));
  if (!fd) return false;
  const bool made =
      fchmod(fd.get(), kForEverybody) == 0 && (link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int why = errno;
  unlink(draft.c_str());
  errno = why;
  return made;
}

// Opens a file without a name for the trial lock. No other user can have created, linked or locked it.
UniqueFd make_file_without_name(const std::string& directory) {
  UniqueFd fd(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd) return fd;
  std::string name = directory + "/trial.XXXXXX";
  fd = UniqueFd(mkostemp(name.data(), O_CLOEXEC));
  const int why = errno;
  if (fd) unlink(name.c_str());
  errno = why;
  return fd;
}

// Sets a lock from byte `first` to the end of the file. From 0, it covers the whole file, which is how older
// versions of Proctor lock it.
bool lock_from(off_t first, int fd, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = first;
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// Returns true if the environment declares that `path` is the host's directory. A container cannot detect
// this: a fresh tmpfs or volume is a mount, as the host's directory is.
bool is_said_to_be_the_hosts(const std::string& path) {
  const char* said = std::getenv(kLeasesVariable);
  return path == kEverybodys && said != nullptr && std::string_view(said) == kLeasesOfHost;
}

// Returns true if the directory belongs to root and is writable for all users. The owner of a directory may
// remove all files in it.
bool is_roots_and_for_everybody(const char* path) {
  struct stat info {};
  return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && is_roots(info.st_uid) &&
         (info.st_mode & 01777) == 01777 && access(path, W_OK) == 0;  // a container may mount it read-only
}

Result<void> check_owner(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return Error::system("look at " + path, errno);
  const std::string hint =
      "Create it as root for all users (install --directory --mode=1777 DIR), or select another one: "
      "`state_dir` in [run] of proctor.toml.";
  if (!is_roots(info.st_uid) && info.st_uid != geteuid()) {
    return Error::usage(fmt::format("lease devices in {}: it is owned by {}, not by root or you", path,
                                    user_name(info.st_uid)),
                        hint);
  }
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  if ((info.st_mode & kOthersWrite) != 0 && (info.st_mode & S_ISVTX) == 0) {
    return Error::usage(
        fmt::format("lease devices in {}: other users can remove its files (mode {:o}, no sticky bit)", path,
                    info.st_mode & 07777U),
        hint);
  }
  return {};
}

struct Identity {
  dev_t device;
  ino_t inode;
  bool operator==(const Identity&) const = default;
};

std::optional<Identity> identity_of(const struct stat& info) { return Identity{info.st_dev, info.st_ino}; }

// Returns the file that has this name now, or none.
std::optional<Identity> named(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? identity_of(info) : std::nullopt;
}

std::optional<Identity> opened(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? identity_of(info) : std::nullopt;
}

bool is_locked(int fd) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// Shortens a command line, which can have megabytes. Its beginning is enough to recognise the holder.
std::string cut(const std::string& text) {
  return text.size() <= kMostText ? text : text.substr(0, kMostText) + "...";
}

std::string text_of(const LeaseRecord& record) {
  json document;  // filled key by key, because an initializer list copies each value twice
  document["format"] = kFormat;
  document["device"] = record.device;
  document["pid"] = record.pid;
  document["uid"] = record.uid;
  document["run"] = cut(record.holder.run);
  document["command"] = cut(record.holder.command);
  document["since"] = record.since;
  document["boot_id"] = record.boot_id;
  document["dirty"] = record.dirty;
  document["endured"] = cut(record.endured);
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

struct Reading {
  std::optional<LeaseRecord> record;
  std::string problem;  // for a file that has text but no valid record
};

Reading parse_record(const std::string& text) {
  if (text.empty()) return {};
  const json document = parse_json(text);
  try {
    if (document.at("format").get<int>() > kFormat) {
      return {{}, "was written by a newer version of proctor"};
    }
    LeaseRecord record;
    record.device = document.at("device");
    record.pid = document.at("pid");
    record.uid = document.at("uid");
    record.holder.run = document.at("run");
    record.holder.command = document.at("command");
    record.since = document.at("since");
    record.boot_id = document.at("boot_id");
    record.dirty = document.at("dirty");
    record.endured = document.value("endured", "");
    return {record, ""};
  } catch (const json::exception&) {
    return {{}, "is not a lease record"};
  }
}

Reading read_record(int fd) {
  struct stat info {};
  const bool known = fstat(fd, &info) == 0 && info.st_size > 0;
  std::string text(known ? std::min(static_cast<std::size_t>(info.st_size), kMaxRecord) : 0, '\0');
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return parse_record(text);
}

// Writes with one call. A concurrent reader sees the old text, or the new text with a tail, and never a
// mixture that parses. The tail of a longer old text is then cut off.
Result<void> write_record(int fd, const LeaseRecord& record, const std::string& device) {
  const std::string text = text_of(record);
  if (pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ftruncate(fd, static_cast<off_t>(text.size())) != 0) {
    return Error::system("write the lease of " + device, errno);
  }
  return {};
}

std::optional<std::string> why_dirty(const Reading& last, const std::string& path) {
  if (!last.problem.empty()) return path + " " + last.problem;
  if (!last.record || !last.record->dirty) return std::nullopt;
  const bool restarted =
      !last.record->boot_id.empty() && !boot_id().empty() && last.record->boot_id != boot_id();
  if (restarted) return std::nullopt;
  return fmt::format("run {} (pid {}, since {}) ended without reporting the device healthy",
                     last.record->holder.run, last.record->pid, last.record->since);
}

}  // namespace

std::string describe(const LeaseRecord& record) {
  return fmt::format("{} is held by pid {} (uid {}, run {}, since {}): {}", record.device, record.pid,
                     record.uid, record.holder.run, record.since, record.holder.command);
}

std::string_view to_string(LeaseScope scope) {
  return scope == LeaseScope::kHost ? "host" : "this container only";
}

Result<void> Lease::mark_clean() {
  record_.dirty = false;
  return write_record(fd_.get(), record_, device_);
}

Result<void> Lease::endure(std::string others) {
  record_.endured = std::move(others);
  return write_record(fd_.get(), record_, device_);
}

Result<void> Lease::mark_as_found() {
  if (!left_dirty_) return mark_clean();  // also if an examination found it healthy in the meantime
  return write_record(fd_.get(), last_.value_or(record_), device_);
}

Result<void> Lease::still_there() const {
  const auto now = named(path_);
  if (now && now == opened(fd_.get())) return {};
  return Error{ErrorKind::kSystem,
               fmt::format("keep the lease of {}: its file {} was {}", device_, path_,
                           now ? "replaced by another one" : "removed"),
               "Exclude the lease files from cleanup while a run lasts.", 0};
}

std::string LeaseDirectory::default_path() {
  return is_roots_and_for_everybody(kEverybodys) ? kEverybodys : "/dev/shm";
}

Result<LeaseDirectory> LeaseDirectory::open(const std::string& path) {
  std::error_code ignored;  // a failure shows when the directory below is made
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  if (!make_shared_directory(path)) return Error::system("make the lease directory " + path, errno);
  if (auto ours = check_owner(path); !ours) return ours.error();
  LeaseDirectory directory(path);
  const UniqueFd trial = make_file_without_name(path);
  if (!trial) return Error::system("make a file in the lease directory " + path, errno);
  if (!lock_from(0, trial.get(), F_WRLCK)) {
    const int err = errno;
    if (err == EINVAL || err == ENOLCK || err == EOPNOTSUPP) {
      Error error = Error::system(
          "lock a file in " + path + ": its file system has no open-file-description locks", err);
      error.hint = "Select another directory: `state_dir` in [run] of proctor.toml.";
      return error;
    }
    return Error::system("lock a file in " + path, err);
  }
  return directory;
}

// Only '/' cannot be part of a file name, and no identity contains it today.
std::string LeaseDirectory::path_of(std::string device) const {
  std::replace(device.begin(), device.end(), '/', '_');
  return path_ + "/" + device + kSuffix;
}

LeaseScope LeaseDirectory::scope() const {
  struct stat own {};
  const bool contained = stat("/proc/self/ns/pid", &own) == 0 && own.st_ino != kHostPidNamespace;
  return contained && path_ == default_path() && !is_said_to_be_the_hosts(path_) ? LeaseScope::kContainer
                                                                                 : LeaseScope::kHost;
}

// Opens without O_CREAT first. In a directory with the sticky bit, the kernel refuses O_CREAT on a file of
// another user, even if the file exists (fs.protected_regular).
Result<UniqueFd> LeaseDirectory::open_file(const std::string& device) const {
  const std::string path = path_of(device);
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  UniqueFd fd(::open(path.c_str(), kFlags));
  if (!fd && errno == ENOENT) {
    if (!make_shared_file(path)) return Error::system("make the lease file " + path, errno);
    fd = UniqueFd(::open(path.c_str(), kFlags));
  }
  if (!fd) return Error::system("open the lease file " + path, errno);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Error{ErrorKind::kSystem, "use the lease file " + path + ": it is not a regular file", "", 0};
  }
  return fd;
}

// Opens the file read-only: closing a writable descriptor would wake all waiting runs, which would check
// again, ...
std::optional<LeaseConflict> LeaseDirectory::conflict(const std::string& device) const {
  const UniqueFd fd(::open(path_of(device).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd || !is_locked(fd.get())) return std::nullopt;
  return LeaseConflict{device, read_record(fd.get()).record};
}

// Returns none if another process holds the lease. A locked file counts only if it still has its name
// afterwards.
Result<std::optional<UniqueFd>> LeaseDirectory::lock_file(const std::string& device,
                                                          LeaseConflict& conflict) const {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    auto file = open_file(device);
    if (!file) return file.error();
    if (!lock_from(0, file->get(), F_WRLCK)) {
      if (errno != EAGAIN && errno != EACCES) return Error::system("lock the lease of " + device, errno);
      conflict.holder = read_record(file->get()).record;
      return std::optional<UniqueFd>();
    }
    // The processes of a case lock the bytes after byte 0.
    if (!lock_from(1, file->get(), F_UNLCK)) return Error::system("share the lease of " + device, errno);
    if (named(path_of(device)) == opened(file->get())) return std::optional<UniqueFd>(std::move(*file));
  }
  return Error{
      ErrorKind::kSystem,
      fmt::format("lock the lease of {}: another process keeps replacing {}", device, path_of(device)), "",
      0};
}

Result<std::variant<Lease, LeaseConflict>> LeaseDirectory::take(const std::string& device,
                                                                const LeaseHolder& holder) const {
  LeaseConflict conflict{device, {}};
  auto locked = lock_file(device, conflict);
  if (!locked) return locked.error();
  if (!*locked) return std::variant<Lease, LeaseConflict>(std::move(conflict));
  std::optional<UniqueFd>& file = *locked;
  const Reading last = read_record(file->get());
  Lease lease(device, path_of(device), std::move(*file));
  lease.left_dirty_ = why_dirty(last, path_of(device));
  lease.last_ = last.record;
  lease.record_.holder = holder;
  lease.record_.device = device;
  lease.record_.pid = getpid();
  lease.record_.uid = getuid();
  lease.record_.since = utc_now();
  lease.record_.boot_id = boot_id();
  lease.record_.dirty = true;
  if (last.record && !boot_id().empty() && last.record->boot_id == boot_id())
    lease.record_.endured = last.record->endured;
  if (auto written = write_record(lease.fd(), lease.record_, device); !written) return written.error();
  return std::variant<Lease, LeaseConflict>(std::move(lease));
}

// Watches for the last close of a writable file description, which also happens when a process is killed.
Result<UniqueFd> LeaseDirectory::watch() const {
  UniqueFd fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd || inotify_add_watch(fd.get(), path_.c_str(), IN_CLOSE_WRITE) < 0)
    return Error::system("watch the lease directory " + path_, errno);
  return fd;
}

std::vector<LeaseDirectory::Entry> LeaseDirectory::list() const {
  std::vector<Entry> entries;
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(path_, ignored)) {
    const UniqueFd fd(::open(file.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd || file.path().extension() != kSuffix) continue;
    auto record = read_record(fd.get()).record;
    if (!record) continue;
    entries.push_back({std::move(*record), is_locked(fd.get())});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.record.device < b.record.device; });
  return entries;
}

}  // namespace proctor
