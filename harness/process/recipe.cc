#include "harness/process/recipe.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "harness/process/guard/tree.h"

namespace proctor {

Result<std::string> guard_path() {
  std::error_code ec;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ec);
  if (ec) return Error::system("read /proc/self/exe", ec.value());
  const std::string path = self.parent_path() / "proctor-guard";
  if (access(path.c_str(), X_OK) != 0) return Error::system("find the guard " + path, errno);
  return path;
}

namespace {

bool in_pid_namespace(const Recipe& recipe, const GuardSetup& setup) {
  return recipe.layer == Layer::kPidns && !setup.host_pids;
}

std::string flags_of(const Recipe& recipe, const GuardSetup& setup) {
  std::string flags = "-";
  if (recipe.layer == Layer::kCgroup) flags += guard::kFlagCgroup;
  if (in_pid_namespace(recipe, setup)) flags += guard::kFlagInit;
  if (setup.terminal) flags += guard::kFlagTerminal;
  if (setup.events >= 0) flags += guard::kFlagEvents;
  flags.append(setup.leases.size(), guard::kFlagLease);
  return flags;
}

}  // namespace

std::variant<GuardProcess, SpawnError> start_guard(Recipe& recipe, const std::vector<std::string>& argv,
                                                   const std::vector<std::string>& env,
                                                   const std::string& directory, const GuardSetup& setup) {
  GuardProcess guard;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
    return SpawnError{"socketpair", errno};
  }
  guard.control = UniqueFd(pair[0]);
  const UniqueFd guard_end(pair[1]);
  if (recipe.layer == Layer::kCgroup) {
    auto leaf = CgroupLeaf::create(*recipe.run_cgroup, std::to_string(++recipe.next_leaf));
    if (!leaf) return SpawnError{"cgroup", leaf.error().sys_errno};
    guard.leaf.emplace(*std::move(leaf));
  }
  SpawnSpec spec;
  spec.argv = {recipe.guard, flags_of(recipe, setup), guard.leaf ? guard.leaf->path() : "-"};
  spec.argv.insert(spec.argv.end(), argv.begin(), argv.end());
  spec.env = env;
  spec.directory = directory;
  spec.umask = setup.umask;
  spec.fds = {setup.in,    setup.out, setup.err, guard_end.get(), guard.leaf ? guard.leaf->fd() : -1,
              setup.events};
  spec.fds.insert(spec.fds.end(), setup.leases.begin(), setup.leases.end());
  spec.pid_namespace = in_pid_namespace(recipe, setup);
  spec.user_namespace = spec.pid_namespace && recipe.user_namespace;
  spec.fresh_proc = spec.pid_namespace && recipe.fresh_proc;
  auto spawned = spawn(spec);
  if (auto* error = std::get_if<SpawnError>(&spawned)) return *error;
  guard.process = std::get<Spawned>(std::move(spawned));
  recipe.guards.insert(guard.process.pid);
  return guard;
}

void sweep_orphans(const Recipe& recipe) {
  for (int round = 0; round < 1000; ++round) {
    bool any = false;
    for (const pid_t pid : guard::descendants(getpid())) {
      if (recipe.guards.contains(pid)) continue;
      // Only direct children can be reaped here, and only they cannot have changed identity meanwhile.
      siginfo_t info{};
      if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) continue;
      any = true;
      guard::signal_descendants(pid, SIGKILL);
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, WNOHANG);
    }
    if (!any) return;
  }
}

}  // namespace proctor
