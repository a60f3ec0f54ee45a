#include "harness/process/sweep.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <thread>

#include "harness/base/clock.h"
#include "harness/journal/child_protocol.h"
#include "harness/process/fair_time.h"
#include "harness/process/guard/tree.h"
#include "harness/process/proc_reader.h"
#include "harness/process/recipe.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxFound = 64;
constexpr Milliseconds kBetweenRounds{2};

enum class HasId { kYes, kNo, kUnknown };

// Searches for the id in the environment of a process. `containment_id` is a whole value, or its beginning if
// it ends with a slash. The environment of another user's process is not readable, and such a process does
// not count.
HasId has_id(ProcReader& reader, pid_t pid, const std::string& containment_id) {
  const auto environment = reader.read(pid, environ_file(pid));
  if (!environment) {
    const int err = environment.error().sys_errno;
    return means_lost(environment.error()) || err == EACCES || err == EPERM ? HasId::kNo : HasId::kUnknown;
  }
  std::string entry = std::string(1, '\0') + child::kContainmentVariable + "=" + containment_id;
  if (!containment_id.ends_with('/')) entry += '\0';
  return ('\0' + *environment + '\0').find(entry) != std::string::npos ? HasId::kYes : HasId::kNo;
}

struct IdSearch {
  bool any = false;
  std::string suspicion;  // what could not be read, or ""
};

// Returns true for a process that existed before this one, and thus belongs to none of its cases.
bool is_older(pid_t pid, const Result<ProcessStat>& self) {
  const auto stat = read_stat(pid);
  return stat && self && stat->start_time < self->start_time;
}

void kill_held(pid_t pid, const UniqueFd& held) {
  if (held) {
    syscall(SYS_pidfd_send_signal, held.get(), SIGKILL, nullptr, 0);
  } else {
    kill(pid, SIGKILL);
  }
}

// Kills all processes with the id. The id is read again once a pidfd holds the process, because the pid could
// have been reused.
template <typename Named>
IdSearch kill_by_id(ProcReader& reader, const std::string& containment_id, Named named) {
  IdSearch search;
  const auto self = read_stat(getpid());
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    pid_t pid = 0;
    const auto [rest, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || *rest != '\0' || pid == getpid()) continue;
    if (is_zombie_or_ended(pid) || is_older(pid, self)) continue;
    const HasId found = has_id(reader, pid, containment_id);
    if (found == HasId::kUnknown)
      search.suspicion = "process " + name + " " + command_of(reader, pid) + " does not show its environment";
    if (found != HasId::kYes) continue;
    const UniqueFd held(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (has_id(reader, pid, containment_id) != HasId::kYes) continue;
    search.any = true;
    named(pid);
    kill_held(pid, held);
  }
  if (error) search.suspicion = Error::system("/proc cannot be read", error.value()).what;
  return search;
}

}  // namespace

bool Sweep::round(bool reaped) {
  bool any = end_leaf();
  if (!reaped) any = end_guard() || any;
  any = end_orphans() || any;
  // The most expensive search comes last: it finds processes that are no longer descendants of the runner.
  return !any && !end_by_id();
}

bool Sweep::end_leaf() {
  if (leaf_ == nullptr || leaf_->empty()) return false;
  for (const pid_t pid : leaf_->members()) name(pid);
  leaf_->kill();
  return true;
}

// Kills the guard and its descendants. They come first: after the guard's death they cannot be distinguished
// from the orphans of other guards.
bool Sweep::end_guard() {
  for (const pid_t pid : guard::descendants(guard_)) name(pid);
  guard::signal_descendants(guard_, SIGKILL);
  kill(guard_, SIGKILL);  // an unreaped child of this process keeps its pid
  return true;
}

// Kills the processes of guards that have died: the runner, as the next subreaper, has adopted them.
bool Sweep::end_orphans() {
  const guard::PidList children = recipe_.children.now();
  bool any = children.why_not_whole() != 0;
  for (const pid_t pid : children) {
    if (recipe_.guards.contains(pid)) continue;
    any = true;
    for (const pid_t below : guard::descendants(pid)) name(below);
    name(pid);
    guard::signal_descendants(pid, SIGKILL);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, WNOHANG);
  }
  return any;
}

bool Sweep::end_by_id() {
  const auto search = kill_by_id(recipe_.reader, containment_id_, [this](pid_t pid) { name(pid); });
  suspicion_ = search.suspicion;
  return search.any || !search.suspicion.empty();
}

void Sweep::name(pid_t pid) {
  if (found_.size() == kMaxFound || is_zombie_or_ended(pid) || !named_.insert(pid).second) return;
  found_.push_back({pid, command_of(recipe_.reader, pid)});
}

namespace {

// Kills the children that a containment of this process has started, and the processes that this process
// adopted from them.
std::vector<LeakedProcess> end_children(Recipe& recipe) {
  const guard::PidList children = recipe.children.now();
  std::vector<LeakedProcess> left;
  for (const pid_t pid : children) {
    guard::signal_descendants(pid, SIGKILL);
    kill(pid, SIGKILL);
    if (waitpid(pid, nullptr, WNOHANG) == pid) {
      recipe.guards.erase(pid);
      continue;
    }
    for (LeakedProcess& below : find_leaked_processes(recipe.reader, pid, 0))
      left.push_back(std::move(below));
    if (!is_zombie_or_ended(pid)) left.push_back({pid, command_of(recipe.reader, pid)});
  }
  if (const int err = children.why_not_whole(); err != 0)
    left.push_back({0, Error::system("the remaining processes cannot be read", err).what});
  return left;
}

}  // namespace

std::vector<LeakedProcess> sweep_rest(Recipe& recipe, Milliseconds limit) {
  if (recipe.guards.empty() && !recipe.unfinished) return {};
  KillWait wait(limit);
  for (;;) {
    if (recipe.run_cgroup && !recipe.run_cgroup->directory().empty()) recipe.run_cgroup->directory().kill();
    std::vector<LeakedProcess> left = end_children(recipe);
    const auto outside = [&](pid_t pid) { left.push_back({pid, command_of(recipe.reader, pid)}); };
    const auto found = kill_by_id(recipe.reader, recipe.run_id + "/", outside);
    if (!found.suspicion.empty()) left.push_back({0, found.suspicion});
    std::vector<pid_t> pids;
    for (const LeakedProcess& leaked : left) pids.push_back(leaked.pid);
    if ((left.empty() && !found.any) || wait.is_over(pids)) return left;
    std::this_thread::sleep_for(kBetweenRounds);
  }
}

}  // namespace proctor
