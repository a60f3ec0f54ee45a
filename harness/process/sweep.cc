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

#include "harness/core/child_protocol.h"
#include "harness/core/clock.h"
#include "harness/core/read_file.h"
#include "harness/process/guard/tree.h"
#include "harness/process/recipe.h"
#include "harness/process/strays.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxFound = 64;
constexpr Milliseconds kBetweenRounds{2};

// A child of this process that has not been reaped. Nothing else can be told from one that got its pid.
bool is_own_child(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// `mark` ends an entry, or only begins its value: then it ends with a slash.
bool has_mark(pid_t pid, const std::string& mark) {
  const auto environment = read_file("/proc/" + std::to_string(pid) + "/environ");
  if (!environment) return false;
  std::string entry = std::string(1, '\0') + child::kContainmentVariable + "=" + mark;
  if (!mark.ends_with('/')) entry += '\0';
  return ('\0' + *environment + '\0').find(entry) != std::string::npos;
}

// Those that can be read. The mark is read again once the process is held, so that it is not another's pid.
template <typename Named>
bool kill_marked(const std::string& mark, Named named) {
  bool any = false;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    pid_t pid = 0;
    const auto [rest, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || *rest != '\0' || pid == getpid() || !has_mark(pid, mark)) continue;
    if (is_zombie_or_gone(pid)) continue;
    const UniqueFd held(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!has_mark(pid, mark)) continue;
    any = true;
    named(pid);
    if (held) {
      syscall(SYS_pidfd_send_signal, held.get(), SIGKILL, nullptr, 0);
    } else {
      kill(pid, SIGKILL);
    }
  }
  return any;
}

}  // namespace

bool Sweep::round(bool reaped) {
  bool any = end_leaf();
  if (!reaped) any = end_guard() || any;
  any = end_orphans() || any;
  // The most expensive look, and the last: it finds what is nobody's descendant any more.
  return !any && !end_marked();
}

bool Sweep::end_leaf() {
  if (leaf_ == nullptr || leaf_->empty()) return false;
  for (const pid_t pid : leaf_->members()) name(pid);
  leaf_->kill();
  return true;
}

// What it holds first: once it is dead, that is not to be told from what other guards have lost.
bool Sweep::end_guard() {
  for (const pid_t pid : guard::descendants(guard_)) name(pid);
  guard::signal_descendants(guard_, SIGKILL);
  kill(guard_, SIGKILL);  // a child of ours that was not reaped: nobody else has its pid
  return true;
}

// What a guard held that is dead by now: the runner is the next subreaper above it.
bool Sweep::end_orphans() {
  bool any = false;
  for (const pid_t pid : guard::descendants(getpid())) {
    if (recipe_.guards.contains(pid) || !is_own_child(pid)) continue;
    any = true;
    for (const pid_t below : guard::descendants(pid)) name(below);
    name(pid);
    guard::signal_descendants(pid, SIGKILL);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, WNOHANG);
  }
  return any;
}

bool Sweep::end_marked() {
  return kill_marked(mark_, [this](pid_t pid) { name(pid); });
}

void Sweep::name(pid_t pid) {
  if (found_.size() == kMaxFound || is_zombie_or_gone(pid) || !named_.insert(pid).second) return;
  found_.push_back({pid, command_of(pid)});
}

std::vector<Stray> sweep_rest(Recipe& recipe, Milliseconds limit) {
  if (recipe.guards.empty() && !recipe.unfinished) return {};
  const auto give_up = Clock::now() + limit;
  for (;;) {
    if (recipe.run_cgroup && !recipe.run_cgroup->directory().empty()) recipe.run_cgroup->directory().kill();
    guard::signal_descendants(getpid(), SIGKILL);
    for (const pid_t pid : guard::descendants(getpid())) {
      if (waitpid(pid, nullptr, WNOHANG) == pid) recipe.guards.erase(pid);
    }
    std::vector<Stray> left = find_strays(getpid(), 0);
    const auto outside = [&left](pid_t pid) { left.push_back({pid, command_of(pid)}); };
    const bool marked = kill_marked(recipe.run_id + "/", outside);
    if ((left.empty() && !marked) || Clock::now() >= give_up) return left;
    std::this_thread::sleep_for(kBetweenRounds);
  }
}

}  // namespace proctor
