// cgroup v2 as Proctor uses it: one directory for the run, one leaf for each case, `cgroup.kill`
// as the kill. Kernel rules: Documentation/admin-guide/cgroup-v2.rst ("cgroup.kill",
// "cgroup.events", "No Internal Process").
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "harness/core/result.h"
#include "harness/core/unique_fd.h"

namespace proctor {

std::optional<std::string> cgroup2_mount();

// Where this process may create cgroups: the cgroup2 mount (found in /proc/self/mountinfo: hybrid hosts have
// it elsewhere) joined with its own path. An error if there is no cgroup2 mount, or no entry in
// /proc/self/cgroup.
Result<std::string> own_cgroup_directory();

// Directory of one run, made on construction and removed on destruction.
class RunCgroup {
 public:
  static Result<RunCgroup> create(const std::string& parent, const std::string& run_id);
  ~RunCgroup();
  RunCgroup(RunCgroup&& other) noexcept;
  RunCgroup& operator=(RunCgroup&& other) noexcept;

  const std::string& path() const { return path_; }
  bool has_pids_limit() const { return has_pids_limit_; }

 private:
  explicit RunCgroup(std::string path) : path_(std::move(path)) {}
  std::string path_;
  bool has_pids_limit_ = false;
};

// One case's leaf. Destroying it removes the directory; it must be empty by then.
class CgroupLeaf {
 public:
  static Result<CgroupLeaf> create(const RunCgroup& run, const std::string& name);
  ~CgroupLeaf();
  CgroupLeaf(CgroupLeaf&& other) noexcept;
  CgroupLeaf& operator=(CgroupLeaf&& other) noexcept;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  // SIGKILL to every member, atomically against fork.
  bool kill() const;
  // `populated 0` in cgroup.events: the proof that no member is left.
  bool empty() const;

 private:
  CgroupLeaf(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  UniqueFd fd_;
};

inline constexpr int kPidsLimit = 4096;  // per case, if the pids controller is available

}  // namespace proctor
