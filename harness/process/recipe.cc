#include "harness/process/recipe.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "harness/base/argv.h"
#include "harness/journal/child_protocol.h"
#include "harness/process/proc_reader.h"

namespace proctor {

OwnChildren::OwnChildren() : list_(guard::open_children(getpid())) {
  for (const pid_t pid : guard::descendants(getpid(), list_.get())) {
    if (const auto stat = read_stat(pid)) before_.emplace(pid, stat->start_time);
  }
}

guard::PidList OwnChildren::now() const {
  const guard::PidList all = guard::read_children(list_.get());
  guard::PidList found;
  if (all.why_not_whole() != 0) found.miss(all.why_not_whole());
  for (const pid_t pid : all) {
    if (!was_there(pid)) found.push(pid);
  }
  return found;
}

// If the start time can no longer be read, the pid alone is enough: a child keeps it until it is reaped.
bool OwnChildren::was_there(pid_t pid) const {
  const auto found = before_.find(pid);
  if (found == before_.end()) return false;
  const auto stat = read_stat(pid);
  return !stat || stat->start_time == found->second;
}

Result<std::string> guard_path(const std::string& programs) {
  const std::string path = programs + "/proctor-guard";
  if (access(path.c_str(), X_OK) != 0) {
    Error missing = Error::system("find the guard " + path, errno);
    missing.hint = "The installation is incomplete: reinstall proctor.";
    return missing;
  }
  return path;
}

Limits limits_now() {
  Limits limits{};
  for (std::size_t i = 0; i < limits.size(); ++i) syscall(SYS_prlimit64, 0, i, nullptr, &limits[i]);
  return limits;
}

void restore_limits(const Recipe& recipe) {
  const Limits now = limits_now();
  for (std::size_t i = 0; i < now.size(); ++i) {
    const rlimit& wanted = recipe.limits[i];
    if (now[i].rlim_cur >= wanted.rlim_cur && now[i].rlim_max >= wanted.rlim_max) continue;
    syscall(SYS_prlimit64, 0, i, &wanted, nullptr);
  }
}

namespace {

std::string flags_of(const Recipe& recipe, const GuardSetup& setup) {
  const bool is_init = in_pid_namespace(recipe, setup.reach);
  std::string flags = "-";
  if (has_cgroup(recipe.layer)) flags += guard::kFlagCgroup;
  if (is_init) flags += guard::kFlagInit;
  if (is_init && recipe.user_namespace) flags += guard::kFlagAwaitMaps;
  if (setup.terminal) flags += guard::kFlagTerminal;
  if (setup.events >= 0) flags += guard::kFlagEvents;
  if (recipe.dumpable_guard) flags += guard::kFlagDumpable;
  const bool confined = setup.reach != Reach::kMachine;
  if (confined && recipe.signal_scope == guard::SignalScope::kLandlock) flags += guard::kFlagLandlock;
  if (confined && recipe.signal_scope == guard::SignalScope::kFilter) flags += guard::kFlagFilter;
  if (setup.reach == Reach::kHostPids) flags += guard::kFlagKeepPrivileges;
  flags.append(setup.leases.size(), guard::kFlagLease);
  for (const int fd : setup.inherited) flags += guard::kFlagInherited + std::to_string(fd);
  return flags;
}

// Writes the id maps, for which the guard waits. After a failure, the guard reads end-of-file and exits.
std::optional<SpawnError> map_ids(GuardProcess& guard) {
  if (auto error = write_id_maps(guard.process.pid)) {
    guard.control.reset();
    while (waitpid(guard.process.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return error;
  }
  const guard::Command written{guard::CommandType::kMapsWritten, 0};
  (void)send(guard.control.get(), &written, sizeof(written), MSG_NOSIGNAL);
  return std::nullopt;
}

}  // namespace

bool in_pid_namespace(const Recipe& recipe, Reach reach) {
  return has_pid_namespace(recipe.layer) && reach == Reach::kCase;
}

std::variant<GuardProcess, SpawnError> start_guard(Recipe& recipe, const std::vector<std::string>& argv,
                                                   const std::vector<std::string>& env,
                                                   const std::string& directory, const GuardSetup& setup) {
  GuardProcess guard;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
    return SpawnError{"socketpair", errno};
  }
  guard.control = UniqueFd(pair[0]);
  UniqueFd guard_end(pair[1]);
  const std::string number = std::to_string(++recipe.next_case);
  guard.containment_id = recipe.run_id + "/" + number;
  if (has_cgroup(recipe.layer)) {
    auto leaf = recipe.run_cgroup->make_leaf(number);
    if (!leaf) return SpawnError{"cgroup", leaf.error().sys_errno};
    guard.leaf.emplace(*std::move(leaf));
  }
  SpawnSpec spec;
  spec.argv = {recipe.guard, flags_of(recipe, setup), guard.containment_id,
               guard.leaf ? guard.leaf->path() : "-"};
  spec.argv.insert(spec.argv.end(), argv.begin(), argv.end());
  spec.env = env;
  set_variable(spec.env, child::kContainmentVariable, guard.containment_id);
  spec.directory = directory;
  spec.umask = setup.umask;
  spec.core_limit = setup.core_limit;
  spec.fds = {setup.in,    setup.out, setup.err, guard_end.get(), guard.leaf ? guard.leaf->fd() : -1,
              setup.events};
  spec.fds.insert(spec.fds.end(), setup.leases.begin(), setup.leases.end());
  spec.fds.insert(spec.fds.end(), setup.inherited.begin(), setup.inherited.end());
  spec.pid_namespace = in_pid_namespace(recipe, setup.reach);
  spec.user_namespace = spec.pid_namespace && recipe.user_namespace;
  spec.fresh_proc = spec.pid_namespace && recipe.fresh_proc;
  if (spec.pid_namespace) spec.pids = recipe.pids;
  if (spec.pid_namespace && guard.leaf && recipe.held_cgroups) {
    spec.read_only = recipe.cgroup_mounts;
    spec.writable = guard.leaf->path();
  }
  auto spawned = spawn(spec);
  if (auto* error = std::get_if<SpawnError>(&spawned)) return *error;
  guard.process = std::get<Spawned>(std::move(spawned));
  guard_end.reset();
  if (spec.user_namespace) {
    if (auto error = map_ids(guard)) return *error;
  }
  if (guard.leaf) guard.watched = recipe.cgroup_watch->begin(guard.leaf->path());
  recipe.guards.insert(guard.process.pid);
  return guard;
}

}  // namespace proctor
