// Starts the guard of one case with vfork semantics: CLONE_VM|CLONE_VFORK (to fork a runner with 1 GiB
// resident costs 59 ms, this way costs 0.5 ms) and CLONE_PIDFD. Errors between clone and exec come back
// through shared memory as {step, errno}; "exit 127" never stands for a failure to start.
//
// Must be called from the thread that lives as long as the runner: PDEATHSIG fires at the
// death of the thread that cloned.
//
// Child-side order: /proc, default signal dispositions, descriptors 0..5, close the rest, working directory,
// exec. No step allocates or locks.
//
// The id maps of a user namespace are written after the exec, by write_id_maps(). Until then the child shares the
// runner's memory, and the runner is not dumpable, so that /proc/self/uid_map is root's.
#pragma once

#include <optional>
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
  bool user_namespace = false;  // without id maps: the child waits until they are written
  bool fresh_proc = false;      // own mount namespace with a /proc of the new PID namespace
  bool use_pidfd = true;
};

struct Spawned {
  pid_t pid = 0;
  UniqueFd pidfd;  // empty where the kernel or a filter refuses pidfds
};

// The child has executed argv[0] when this returns a value.
std::variant<Spawned, SpawnError> spawn(const SpawnSpec& spec);

// Maps the caller's uid and gid to themselves in the user namespace of `pid`, which has executed its program and is
// dumpable still.
std::optional<SpawnError> write_id_maps(pid_t pid);

}  // namespace proctor
