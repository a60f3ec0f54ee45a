// cgroup v2 as Proctor uses it: one directory for the run, one leaf for each case, `cgroup.kill`
// as the kill. Kernel rules: Documentation/admin-guide/cgroup-v2.rst ("cgroup.kill",
// "cgroup.events", "No Internal Process").
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.h"
#include "harness/core/unique_fd.h"

namespace proctor {

std::optional<std::string> cgroup2_mount();

// Where this process may create cgroups: the cgroup2 mount (found in /proc/self/mountinfo: hybrid hosts have
// it elsewhere) joined with its own path. An error if there is no cgroup2 mount, or no entry in
// /proc/self/cgroup.
Result<std::string> own_cgroup_directory();

// A directory that this process made. It is killed and looked at through descriptors, whatever has become of
// its path: they are opened with it, since a test may take the right to open files from its runner. Destroying it
// removes it, with those that a test made below it; what still has processes stays.
class Cgroup {
 public:
  static Result<Cgroup> create(const std::string& path, mode_t mode = 0755);
  ~Cgroup();
  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup&& other) noexcept;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  // SIGKILL to every member, also of the cgroups below, atomically against fork.
  bool kill() const;
  // `populated 0` in cgroup.events: the proof that no member is left, here or below. What cannot be read is not
  // empty.
  bool empty() const;
  // Those in the directory itself. Only for their names: some may be missing.
  std::vector<pid_t> members() const;

 private:
  explicit Cgroup(std::string path) : path_(std::move(path)) {}
  std::string path_;
  UniqueFd fd_;
  UniqueFd kill_;
  UniqueFd events_;
};

// Directory of one run. It is locked (flock) while the run lives. A run that dies before it has written its
// record leaves it without a lock, and whoever makes the next one removes it.
class RunCgroup {
 public:
  static Result<RunCgroup> create(const std::string& parent, const std::string& run_id);

  const std::string& path() const { return directory_.path(); }
  const Cgroup& directory() const { return directory_; }
  bool has_pids_limit() const { return has_pids_limit_; }
  Result<Cgroup> make_leaf(const std::string& name) const;

 private:
  explicit RunCgroup(Cgroup directory) : directory_(std::move(directory)) {}
  Cgroup directory_;
  bool has_pids_limit_ = false;
};

inline constexpr int kPidsLimit = 4096;  // per case, if the pids controller is available

}  // namespace proctor
