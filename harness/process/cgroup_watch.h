// This class detects that another process killed the cgroup of a case or of the whole run. The kernel reports no
// sender of SIGKILL, but inotify(7) reports each write to cgroup.kill. It also reports the write of the guard, so the
// caller checks before it orders a kill.
#pragma once

#include <map>
#include <string>

#include "harness/base/unique_fd.h"

namespace proctor {

class CgroupWatch {
 public:
  // One case. It watches from begin() to end().
  struct Leaf {
    int id = -1;
    unsigned before = 0;  // writes to the cgroup.kill of the run
  };

  // `run`: the directory of the run's cgroup. Without inotify, was_killed() is always false.
  explicit CgroupWatch(const std::string& run);

  Leaf begin(const std::string& leaf);
  void end(const Leaf& leaf);

  // True if a process has written to the cgroup.kill of the leaf or of the run since begin().
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
