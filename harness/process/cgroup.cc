#include "harness/process/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

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

bool write_file(const std::string& path, const char* text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return false;
  const auto size = static_cast<ssize_t>(std::char_traits<char>::length(text));
  return write(fd.get(), text, static_cast<std::size_t>(size)) == size;
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

// Fields of a mountinfo line up to " - " vary in number; the file system type stands
// right after it (proc(5)).
std::optional<std::string> cgroup2_mount() {
  std::ifstream mounts("/proc/self/mountinfo");
  std::string line;
  while (std::getline(mounts, line)) {
    const std::size_t dash = line.find(" - cgroup2 ");
    if (dash == std::string::npos) continue;
    std::istringstream fields(line);
    std::string skipped;
    std::string mount_point;
    fields >> skipped >> skipped >> skipped >> skipped >> mount_point;
    return mount_point;
  }
  return std::nullopt;
}

Result<std::string> own_cgroup_directory() {
  const auto mount = cgroup2_mount();
  if (!mount) return Error{ErrorKind::kSystem, "find a cgroup2 mount", "", ENOENT};
  const auto path = own_path();
  if (!path) return Error{ErrorKind::kSystem, "find the cgroup2 line of /proc/self/cgroup", "", ENOENT};
  // A path that starts with /.. lies outside the cgroup namespace: only the mount itself can be used.
  if (path->starts_with("/..") || *path == "/") return *mount;
  return *mount + *path;
}

Result<RunCgroup> RunCgroup::create(const std::string& parent, const std::string& run_id) {
  const std::string path = parent + "/proctor-" + run_id;
  if (mkdir(path.c_str(), 0755) != 0) return Error::system("create cgroup " + path, errno);
  RunCgroup run(path);
  if (access((path + "/cgroup.kill").c_str(), W_OK) != 0) {
    return Error::system("find cgroup.kill (kernel 5.14) in " + path, errno);
  }
  run.has_pids_limit_ =
      lists(path + "/cgroup.controllers", "pids") && write_file(path + "/cgroup.subtree_control", "+pids");
  // For memory.peak of each case.
  if (lists(path + "/cgroup.controllers", "memory")) write_file(path + "/cgroup.subtree_control", "+memory");
  return run;
}

RunCgroup::RunCgroup(RunCgroup&& other) noexcept
    : path_(std::exchange(other.path_, {})), has_pids_limit_(other.has_pids_limit_) {}

RunCgroup& RunCgroup::operator=(RunCgroup&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(has_pids_limit_, other.has_pids_limit_);
  return *this;
}

RunCgroup::~RunCgroup() {
  if (!path_.empty()) rmdir(path_.c_str());
}

Result<CgroupLeaf> CgroupLeaf::create(const RunCgroup& run, const std::string& name) {
  const std::string path = run.path() + "/" + name;
  if (mkdir(path.c_str(), 0755) != 0) return Error::system("create cgroup " + path, errno);
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    const int err = errno;
    rmdir(path.c_str());
    return Error::system("open cgroup " + path, err);
  }
  CgroupLeaf leaf(path, std::move(fd));
  if (run.has_pids_limit()) write_file(path + "/pids.max", std::to_string(kPidsLimit).c_str());
  return leaf;
}

CgroupLeaf::CgroupLeaf(CgroupLeaf&& other) noexcept
    : path_(std::exchange(other.path_, {})), fd_(std::move(other.fd_)) {}

CgroupLeaf& CgroupLeaf::operator=(CgroupLeaf&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

CgroupLeaf::~CgroupLeaf() {
  if (!path_.empty()) rmdir(path_.c_str());
}

bool CgroupLeaf::kill() const { return write_file(path_ + "/cgroup.kill", "1"); }

bool CgroupLeaf::empty() const {
  std::ifstream events(path_ + "/cgroup.events");
  std::string key;
  int value = 0;
  while (events >> key >> value) {
    if (key == "populated") return value == 0;
  }
  return true;  // the leaf is gone
}

}  // namespace proctor
