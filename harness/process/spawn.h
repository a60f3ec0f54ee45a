// Starts the guard of one case with vfork semantics: CLONE_VM|CLONE_VFORK (to fork a runner with 1 GiB
// resident costs 59 ms, this way costs 0.5 ms) and CLONE_PIDFD. Errors between clone and exec come back
// through shared memory as {step, errno}; "exit 127" never stands for a failure to start.
//
// Must be called from the thread that lives as long as the runner: PDEATHSIG fires at the
// death of the thread that cloned.
//
// Child-side order: namespaces' id maps, /proc, default signal dispositions, descriptors 0..5, close the
// rest, working directory, exec. No step allocates or locks.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "harness/core/unique_fd.h"
#include "harness/process/process_spec.h"

namespace proctor {

struct SpawnSpec {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string directory;
  int umask = -1;  // -1: inherit
  // Placed at descriptors 0, 1, 2, ... ; -1 leaves that number closed. Everything else is closed.
  std::vector<int> fds;
  bool pid_namespace = false;
  bool user_namespace = false;  // the caller's uid and gid are mapped to themselves
  bool fresh_proc = false;      // own mount namespace with a /proc of the new PID namespace
  bool use_pidfd = true;
};

struct Spawned {
  pid_t pid = 0;
  UniqueFd pidfd;  // empty where the kernel or a filter refuses pidfds
};

// The child has executed argv[0] when this returns a value.
std::variant<Spawned, SpawnError> spawn(const SpawnSpec& spec);

}  // namespace proctor
