// Starts the guard of one case with vfork semantics: CLONE_VM|CLONE_VFORK and CLONE_PIDFD. For a runner of 1
// GiB this takes 0.5 ms, and a fork 59 ms. Errors between clone and exec are returned through shared memory
// as {step, errno}. An exit code of 127 never means a failure to start.
//
// Call spawn() from a thread that lives as long as the runner: PDEATHSIG is sent when the thread that cloned
// ends.
//
// Order of steps in the child: mounts, the next pid, default signal dispositions, descriptors 0..5, closing
// all other descriptors, working directory, exec. No step allocates or locks.
//
// write_id_maps() writes the id maps of a user namespace after the exec. Before that the child shares the
// memory of the runner, which is not dumpable, so /proc/self/uid_map belongs to root.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/base/unique_fd.h"
#include "harness/process/process_spec.h"

namespace proctor {

// Chooses the pid of a test process in its PID namespace. Tests name files, ports and shared memory by their
// pid, and cases share /tmp, /dev/shm and the network. Two cases at the same time must therefore not have the
// same pid.
//
// The pid of the guard outside is unique. The pid of the test process is this pid multiplied by a constant,
// modulo the number of pids. It is unique too, and leaves the next pids to the child processes of the case.
// Guards that start one after the other have consecutive pids, and get numbers that are far apart (Knuth, The
// Art of Computer Programming 3, 6.4, theorem S).
class CasePids {
 public:
  CasePids() = default;  // of() returns 0
  // `pid_max`: of /proc/sys/kernel/pid_max.
  explicit CasePids(std::uint64_t pid_max);

  // Returns the pid for a guard; 0: none is possible.
  std::uint64_t of(std::uint64_t guard) const {
    if (range_ == 0 || guard == 0) return 0;
    const std::uint64_t pid = guard % range_ * factor_ % range_;
    return pid > 1 ? pid : 0;  // 1 is the guard
  }

 private:
  std::uint64_t range_ = 0;
  std::uint64_t factor_ = 0;
};

// Reads the limit of the kernel. If that fails, of() returns 0.
CasePids case_pids_here();

// The step of SpawnError if `read_only` is refused.
inline constexpr const char* kReadOnlyStep = "mount(read-only)";

// The process to start.
struct SpawnSpec {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string directory;
  int umask = -1;                // -1: inherit
  std::uint64_t core_limit = 0;  // as in ProcessSpec
  // They become descriptors 0, 1, 2, ... ; -1: that number stays closed. All other descriptors are closed.
  std::vector<int> fds;
  bool pid_namespace = false;
  bool user_namespace = false;  // without id maps: the child waits until they are written
  bool fresh_proc = false;      // own mount namespace with a /proc of the new PID namespace
  // A separate mount namespace in which these mounts are read-only, except the directory `writable` below one
  // of them.
  std::vector<std::string> read_only{};
  std::string writable{};
  CasePids pids{};  // for the first child process in the PID namespace
  bool use_pidfd = true;
};

// The started process.
struct Spawned {
  pid_t pid = 0;
  UniqueFd pidfd;          // empty if the kernel or a filter refuses pidfds
  bool chose_pid = false;  // the pid of its first child process was set
};

// Starts the child. If this returns a Spawned, the child has executed argv[0].
std::variant<Spawned, SpawnError> spawn(const SpawnSpec& spec);

// Maps the caller's uid and gid to themselves in the user namespace of `pid`, which must have executed its
// program and still be dumpable.
std::optional<SpawnError> write_id_maps(pid_t pid);

}  // namespace proctor
