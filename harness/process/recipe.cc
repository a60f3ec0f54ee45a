#include "harness/process/recipe.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "harness/core/child_protocol.h"

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
  if (recipe.dumpable_guard) flags += guard::kFlagDumpable;
  flags.append(setup.leases.size(), guard::kFlagLease);
  return flags;
}

std::vector<std::string> marked(std::vector<std::string> env, const std::string& mark) {
  const std::string variable = std::string(child::kContainmentVariable) + "=";
  std::erase_if(env, [&](const std::string& entry) { return entry.starts_with(variable); });
  env.push_back(variable + mark);
  return env;
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
  const std::string number = std::to_string(++recipe.next_case);
  guard.mark = recipe.run_id + "/" + number;
  if (recipe.layer == Layer::kCgroup) {
    auto leaf = recipe.run_cgroup->make_leaf(number);
    if (!leaf) return SpawnError{"cgroup", leaf.error().sys_errno};
    guard.leaf.emplace(*std::move(leaf));
  }
  SpawnSpec spec;
  spec.argv = {recipe.guard, flags_of(recipe, setup), guard.mark, guard.leaf ? guard.leaf->path() : "-"};
  spec.argv.insert(spec.argv.end(), argv.begin(), argv.end());
  spec.env = marked(env, guard.mark);
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

}  // namespace proctor
