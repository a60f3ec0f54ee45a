// The runner's own children, for who ends what a guard has lost: as the nearest subreaper the runner adopts it. The
// kernel's list of them is opened once, since a test may take the right to open files from its runner (prlimit).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "harness/core/unique_fd.h"
#include "harness/process/guard/tree.h"

namespace proctor {

class OwnChildren {
 public:
  // Remembers what hangs below this process by now: `server & exec proctor ...` starts as the parent of a server.
  OwnChildren();

  // Those of now, without what is remembered.
  guard::PidList now() const;

 private:
  bool was_there(pid_t pid) const;

  UniqueFd list_;
  std::map<pid_t, std::uint64_t> before_;  // start times, which tell it from what gets its pid later
};

}  // namespace proctor
