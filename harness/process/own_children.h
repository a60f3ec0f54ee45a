// The children of the runner. As the nearest subreaper, the runner adopts the processes of a lost guard, and
// must kill them. The kernel's list of children is opened once, because a test may lower the runner's limit
// of open files (prlimit).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "harness/base/unique_fd.h"
#include "harness/process/guard/tree.h"

namespace proctor {

class OwnChildren {
 public:
  // Stores the children that exist already: after `server & exec proctor ...` the server is a child of the
  // runner.
  OwnChildren();

  // The current children, without the stored ones.
  guard::PidList now() const;

 private:
  bool was_there(pid_t pid) const;

  UniqueFd list_;
  std::map<pid_t, std::uint64_t> before_;  // with start times, because a pid can be reused
};

}  // namespace proctor
