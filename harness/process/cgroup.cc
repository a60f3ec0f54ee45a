#include "harness/process/cgroup.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace proctor {
namespace {

std::optional<std::string> own_path() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return std::nullopt;
}

UniqueFd open_in(int directory, const char* name, int flags) {
  return UniqueFd(openat(directory, name, flags | O_CLOEXEC));
}

bool write_file(const UniqueFd& fd, std::string_view text) {
  return fd && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Reads the file from its beginning. ENODEV: the cgroup was removed.
Result<std::string> read_again(const UniqueFd& fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = pread(fd.get(), buffer, sizeof buffer, static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::system("read a file of a cgroup", errno);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

// Removes a cgroup with those below it, which a test may have created. The kernel refuses if a process is
// left.
void remove_empty(const std::filesystem::path& cgroup) {
  if (rmdir(cgroup.c_str()) == 0) return;
  std::error_code error;
  for (std::filesystem::directory_iterator at(cgroup, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored)) remove_empty(at->path());
  }
  rmdir(cgroup.c_str());
}

bool lists(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  std::string item;
  while (file >> item) {
    if (item == word) return true;
  }
  return false;
}

}  // namespace

// The number of fields of a mountinfo line before " - " varies. The file system type follows directly after
// it (proc(5)).
std::vector<std::string> cgroup2_mounts() {
  std::vector<std::string> found;
  std::ifstream mounts("/proc/self/mountinfo");
  std::string line;
  while (std::getline(mounts, line)) {
    const std::size_t dash = line.find(" - cgroup2 ");
    if (dash == std::string::npos) continue;
    std::istringstream fields(line);
    std::string skipped;
    std::string mount_point;
    fields >> skipped >> skipped >> skipped >> skipped >> mount_point;
    found.push_back(std::move(mount_point));
  }
  return found;
}

std::optional<std::string> cgroup2_mount() {
  std::vector<std::string> mounts = cgroup2_mounts();
  if (mounts.empty()) return std::nullopt;
  return std::move(mounts.front());
}

Result<std::string> own_cgroup_directory() {
  const auto mount = cgroup2_mount();
  if (!mount) return Error{ErrorKind::kSystem, "find a cgroup2 mount", "", ENOENT};
  const auto path = own_path();
  if (!path) return Error{ErrorKind::kSystem, "find the cgroup2 line of /proc/self/cgroup", "", ENOENT};
  // A path that starts with /.. is outside the cgroup namespace, so only the mount itself can be used.
  if (path->starts_with("/..") || *path == "/") return *mount;
  return *mount + *path;
}

// ---- one directory ----

Result<Cgroup> Cgroup::create(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) != 0) return Error::system("create cgroup " + path, errno);
  Cgroup made(path);  // its destructor removes the directory
  made.fd_ = UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!made.fd_) return Error::system("open cgroup " + path, errno);
  made.kill_ = open_in(made.fd(), "cgroup.kill", O_WRONLY);
  if (!made.kill_) return Error::system("open cgroup.kill (kernel 5.14) in " + path, errno);
  made.events_ = open_in(made.fd(), "cgroup.events", O_RDONLY);
  if (!made.events_) return Error::system("open cgroup.events in " + path, errno);
  return made;
}

Cgroup::Cgroup(Cgroup&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      fd_(std::move(other.fd_)),
      kill_(std::move(other.kill_)),
      events_(std::move(other.events_)) {}

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(kill_, other.kill_);
  std::swap(events_, other.events_);
  return *this;
}

Cgroup::~Cgroup() {
  if (!path_.empty()) remove_empty(path_);
}

bool Cgroup::kill() const { return write_file(kill_, "1"); }

bool Cgroup::empty() const {
  const auto text = read_again(events_);
  if (!text) return text.error().sys_errno == ENODEV;
  std::istringstream events(*text);
  std::string key;
  int value = 0;
  while (events >> key >> value) {
    if (key == "populated") return value == 0;
  }
  return false;
}

bool Cgroup::frozen() const {
  const auto text = read_again(open_in(fd_.get(), "cgroup.freeze", O_RDONLY));
  return text && text->starts_with("1");
}

std::vector<pid_t> Cgroup::members() const {
  const UniqueFd fd = open_in(fd_.get(), "cgroup.procs", O_RDONLY);
  const auto text = read_again(fd);
  std::istringstream procs(text ? *text : "");
  std::vector<pid_t> pids;
  for (pid_t pid = 0; procs >> pid;) {
    if (pid > 0) pids.push_back(pid);  // 0: a process of another PID namespace
  }
  return pids;
}

// ---- the cgroup of a run ----

namespace {

constexpr std::string_view kRunPrefix = "proctor-";
// The run that creates the directory sets the sticky bit after it has locked the directory. It holds the lock
// until it ends.
constexpr mode_t kUnlockedMode = 0755;
constexpr mode_t kLockedMode = 01755;

bool is_at(int directory, const std::string& path) {
  struct stat there {
  }, held{};
  return stat(path.c_str(), &there) == 0 && fstat(directory, &held) == 0 && there.st_ino == held.st_ino;
}

// Removes the cgroups of runs that died without a record. A lock on a removed directory does not protect a
// new directory with the same name.
void remove_abandoned(const std::string& parent) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with(kRunPrefix)) continue;
    const UniqueFd fd(open(at->path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!fd || fstat(fd.get(), &info) != 0 || info.st_uid != geteuid()) continue;
    const bool is_abandoned = (info.st_mode & S_ISVTX) != 0 && flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
    if (is_abandoned && is_at(fd.get(), at->path())) remove_empty(at->path());
  }
}

// Creates the directory without the sticky bit and locks it. Other runs remove only directories with the
// sticky bit, so they cannot remove this one before it is locked. A run that is killed in between leaves an
// empty directory.
Result<Cgroup> create_locked(const std::string& path) {
  auto made = Cgroup::create(path, kUnlockedMode);
  if (!made) return made;
  if (flock(made->fd(), LOCK_EX) != 0) return Error::system("lock cgroup " + path, errno);
  if (fchmod(made->fd(), kLockedMode) != 0) return Error::system("mark cgroup " + path + " as locked", errno);
  return made;
}

}  // namespace

Result<RunCgroup> RunCgroup::create(const std::string& parent, const std::string& run_id) {
  remove_abandoned(parent);
  auto made = create_locked(parent + "/" + std::string(kRunPrefix) + run_id);
  if (!made) return made.error();
  RunCgroup run(*std::move(made));
  const std::string& path = run.path();
  const auto enable = [&](const char* controller) {
    return write_file(open_in(run.directory_.fd(), "cgroup.subtree_control", O_WRONLY), controller);
  };
  run.has_pids_limit_ = lists(path + "/cgroup.controllers", "pids") && enable("+pids");
  // The memory controller provides memory.peak for each case.
  if (lists(path + "/cgroup.controllers", "memory")) enable("+memory");
  return run;
}

Result<Cgroup> RunCgroup::make_leaf(const std::string& name) const {
  auto leaf = Cgroup::create(path() + "/" + name);
  if (leaf && has_pids_limit_)
    write_file(open_in(leaf->fd(), "pids.max", O_WRONLY), std::to_string(kPidsLimit));
  return leaf;
}

CgroupWatch::CgroupWatch(const std::string& run)
    : inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)), run_(add(run)) {}

int CgroupWatch::add(const std::string& cgroup) {
  if (!inotify_) return -1;
  return inotify_add_watch(inotify_.get(), (cgroup + "/cgroup.kill").c_str(), IN_MODIFY);
}

CgroupWatch::Leaf CgroupWatch::begin(const std::string& leaf) {
  read_events();
  const int id = add(leaf);
  if (id >= 0) of_leaf_[id] = 0;
  return {id, of_run_};
}

void CgroupWatch::end(const Leaf& leaf) {
  if (leaf.id >= 0 && of_leaf_.erase(leaf.id) > 0) inotify_rm_watch(inotify_.get(), leaf.id);
}

bool CgroupWatch::was_killed(const Leaf& leaf) {
  read_events();
  const auto found = of_leaf_.find(leaf.id);
  return of_run_ > leaf.before || (found != of_leaf_.end() && found->second > 0);
}

// The watched files are not directories, so an event has no name.
void CgroupWatch::read_events() {
  if (!inotify_) return;
  std::array<std::byte, 64 * sizeof(inotify_event)> events{};
  for (;;) {
    const ssize_t got = read(inotify_.get(), events.data(), events.size());
    if (got <= 0) return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got); at += sizeof(inotify_event)) {
      inotify_event event{};
      std::memcpy(&event, events.data() + at, sizeof(event));
      if ((event.mask & IN_MODIFY) == 0) continue;
      if (event.wd == run_) ++of_run_;
      if (const auto leaf = of_leaf_.find(event.wd); leaf != of_leaf_.end()) ++leaf->second;
    }
  }
}

}  // namespace proctor
