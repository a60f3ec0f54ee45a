// Starts the guard of one case with vfork semantics: CLONE_VM|CLONE_VFORK and CLONE_PIDFD. With a runner of 1
// GiB this takes 0.5 ms, and a fork 59 ms. Errors between clone and exec are returned through shared memory
// as {step, errno}. An exit code of 127 never means a failure to start.
//
// Call it from the thread that lives as long as the runner: PDEATHSIG is sent when the thread ends that
// cloned.
//
// Order of steps in the child: mounts, the next pid, default signal dispositions, descriptors 0..5, close the rest,
// working directory, exec. No step allocates or locks.
//
// write_id_maps() writes the id maps of a user namespace after the exec. Before that the child shares the
// memory of the runner, which is not dumpable, so /proc/self/uid_map belongs to root.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/base/unique_fd.h"
#include "harness/process/case_pids.h"
#include "harness/process/process_spec.h"

namespace proctor {

// The step of SpawnError if `read_only` is refused.
inline constexpr const char* kReadOnlyStep = "mount(read-only)";

struct SpawnSpec {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string directory;
  int umask = -1;                // -1: inherit
  std::uint64_t core_limit = 0;  // as in ProcessSpec
  // Become descriptors 0, 1, 2, ... ; -1: that number stays closed. All others are closed.
  std::vector<int> fds;
  bool pid_namespace = false;
  bool user_namespace = false;  // without id maps: the child waits until they are written
  bool fresh_proc = false;      // own mount namespace with a /proc of the new PID namespace
  // Own mount namespace in which these mounts are read-only, except the directory `writable` below one of them.
  std::vector<std::string> read_only{};
  std::string writable{};
  CasePids pids{};  // of the first child process in the PID namespace
  bool use_pidfd = true;
};

struct Spawned {
  pid_t pid = 0;
  UniqueFd pidfd;          // empty if the kernel or a filter refuses pidfds
  bool chose_pid = false;  // of its first child process
};

// The child has executed argv[0] when this returns a value.
std::variant<Spawned, SpawnError> spawn(const SpawnSpec& spec);

// Maps the caller's uid and gid to themselves in the user namespace of `pid`, which must have executed its
// program and still be dumpable.
std::optional<SpawnError> write_id_maps(pid_t pid);

}  // namespace proctor
