// Starts the guard of a case in a containment layer. The probe of the layer starts it with a test child, and
// ContainedProcess with the command of a case.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"
#include "harness/journal/containment_layer.h"
#include "harness/process/cgroup.h"
#include "harness/process/frozen_time.h"
#include "harness/process/guard/protocol.h"
#include "harness/process/guard/signal_scope.h"
#include "harness/process/guard/tree.h"
#include "harness/process/host_usage.h"
#include "harness/process/proc_reader.h"
#include "harness/process/process_spec.h"
#include "harness/process/spawn.h"

namespace proctor {

// The children of the runner. The runner is the nearest subreaper, so it adopts the processes of a lost guard, and
// must kill them. The kernel's list of children is opened once, because a test may lower the runner's limit
// of open files (prlimit).
class OwnChildren {
 public:
  // Stores the children that already exist: after `server & exec proctor ...` the server is a child of the
  // runner.
  OwnChildren();

  // The current children, without the stored ones.
  guard::PidList now() const;

 private:
  bool was_there(pid_t pid) const;

  UniqueFd list_;
  std::map<pid_t, std::uint64_t> before_;  // with start times, because a pid can be reused
};

// Returns the path of the guard, in the directory of the running executable. It is an error if it does not
// exist.
Result<std::string> guard_path(const std::string& programs);

using Limits = std::array<rlimit, RLIM_NLIMITS>;
Limits limits_now();

// The result of the probe of a layer. It applies to every spawn in the same surroundings.
struct ProbedLayer {
  Layer layer = Layer::kSubreaper;
  bool user_namespace = false;
  bool fresh_proc = false;
  bool own_pids = false;     // each case has its own pid (spawn.h)
  bool held_cgroups = true;  // a case can write only to its own cgroup, if it has a PID namespace
  // The case can trace the guard. This is needed if /proc hides processes that its reader may not trace
  // (hidepid).
  bool dumpable_guard = false;
  guard::SignalScope signal_scope = guard::SignalScope::kNone;
};

// The settings of a layer in use, and the state that its guards share.
struct Recipe : ProbedLayer {
  std::string guard;
  std::string run_id;
  std::optional<RunCgroup> run_cgroup;
  std::optional<CgroupWatch> cgroup_watch;  // of run_cgroup
  std::vector<std::string> cgroup_mounts = cgroup2_mounts();
  CasePids pids = case_pids_here();
  int next_case = 0;
  OwnChildren children;  // of the runner
  ProcReader reader;
  Limits limits = limits_now();  // of the runner, at its start; a test may lower them later
  // Living guards. Any other child of the runner is an orphan of a lost guard.
  std::set<pid_t> guards;
  std::unique_ptr<FrozenTime> frozen;  // set for a recipe in use
  Quota quota;
  bool unfinished = false;  // a case could not be killed: a second try is due at the end of the run
};

// Restores the runner's own limits, which a test may have lowered (prlimit). If a hard limit was lowered too, this
// requires CAP_SYS_RESOURCE.
void restore_limits(const Recipe& recipe);

// A started guard.
struct GuardProcess {
  Spawned process;
  UniqueFd control;  // SOCK_SEQPACKET, non-blocking
  std::optional<Cgroup> leaf;
  CgroupWatch::Leaf watched{};
  // In the environment of all its processes (journal/child_protocol.h, kContainmentVariable).
  std::string containment_id;
};

// The descriptors and limits for a guard and its command.
struct GuardSetup {
  int in = -1;
  int out = -1;
  int err = -1;
  int events = -1;
  bool terminal = false;
  int umask = -1;
  std::uint64_t core_limit = 0;
  Reach reach = Reach::kCase;
  std::vector<int> leases{};     // at most guard::kMaxLeases
  std::vector<int> inherited{};  // at most guard::kMaxInherited, and none if events are enabled
};

// Returns true if the guard is PID 1 of a namespace.
bool in_pid_namespace(const Recipe& recipe, Reach reach);

// Starts the guard, which starts `argv`. If `argv` cannot be started, the guard reports kSpawnFailed.
std::variant<GuardProcess, SpawnError> start_guard(Recipe& recipe, const std::vector<std::string>& argv,
                                                   const std::vector<std::string>& env,
                                                   const std::string& directory, const GuardSetup& setup);

}  // namespace proctor
