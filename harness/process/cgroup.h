// cgroup v2: one directory for the run, one leaf for each case, `cgroup.kill` to kill a case. Kernel rules:
// Documentation/admin-guide/cgroup-v2.rst ("cgroup.kill", "cgroup.events", "No Internal Process").
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

std::optional<std::string> cgroup2_mount();

// Returns all cgroup2 mounts.
std::vector<std::string> cgroup2_mounts();

// Returns the directory in which this process may create cgroups: its own path below the cgroup2 mount, which
// /proc/self/mountinfo names. It is an error if no cgroup2 is mounted, or /proc/self/cgroup has no entry.
Result<std::string> own_cgroup_directory();

// A cgroup that this process made. Its descriptors are opened at creation and used for kill() and empty().
// They work even if a test changes the path, or lowers the runner's limit of open files. The destructor
// removes the cgroup and those that a test made in it, except cgroups that still have processes.
class Cgroup {
 public:
  static Result<Cgroup> create(const std::string& path, mode_t mode = 0755);
  ~Cgroup();
  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup&& other) noexcept;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  // Sends SIGKILL to every member, including nested cgroups. A concurrent fork cannot escape it.
  bool kill() const;
  // Returns true if cgroup.events has `populated 0`, which proves that no member is left, including nested
  // cgroups. An unreadable file counts as not empty.
  bool empty() const;
  // Returns true if cgroup.freeze contains 1. An unreadable file counts as not frozen.
  bool frozen() const;
  // The members of this cgroup itself, for messages. Some may be missing.
  std::vector<pid_t> members() const;

 private:
  explicit Cgroup(std::string path) : path_(std::move(path)) {}
  std::string path_;
  UniqueFd fd_;
  UniqueFd kill_;
  UniqueFd events_;
};

// The cgroup of one run, locked (flock) while the run lives. If a run dies before it has written its record,
// the next run removes the unlocked cgroup.
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

// Detects that another process killed the cgroup of a case or of the whole run. The kernel does not report
// the sender of SIGKILL, but inotify(7) reports each write to cgroup.kill. A write of the guard is reported
// too, so the caller checks before it orders a kill.
class CgroupWatch {
 public:
  // The watch of one case, from begin() to end().
  struct Leaf {
    int id = -1;
    unsigned before = 0;  // earlier writes to the cgroup.kill of the run
  };

  // `run`: the directory of the run's cgroup. If inotify fails, was_killed() is always false.
  explicit CgroupWatch(const std::string& run);

  Leaf begin(const std::string& leaf);
  void end(const Leaf& leaf);

  // Returns true if a process has written to the cgroup.kill of the leaf or of the run since begin().
  bool was_killed(const Leaf& leaf);

 private:
  int add(const std::string& cgroup);
  void read_events();

  UniqueFd inotify_;
  int run_ = -1;
  unsigned of_run_ = 0;
  std::map<int, unsigned> of_leaf_;
};

}  // namespace proctor
