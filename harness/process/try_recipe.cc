#include "harness/process/try_recipe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <variant>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/base/unique_fd.h"
#include "harness/process/fair_time.h"
#include "harness/process/guard/protocol.h"
#include "harness/process/guard/signal_scope.h"
#include "harness/process/guard/tree.h"
#include "harness/process/recipe.h"
#include "harness/process/sweep.h"

namespace proctor {
namespace {

constexpr Milliseconds kProbeLimit{10'000};  // in which the guard could run
constexpr int kLookMs = 1'000;
constexpr int kProbeSweeps = 1000;
constexpr long kLandlockWithSignals = 6;  // ABI version, Linux 6.12

// The next report of the guard, or nullopt when its end is closed or its time is over.
std::optional<guard::Report> next_report(pid_t pid, int control, Patience& patience) {
  pollfd poll_fd{control, POLLIN, 0};
  while (poll(&poll_fd, 1, kLookMs) <= 0) {
    patience.look(pid);
    if (patience.is_over(kProbeLimit)) return std::nullopt;
  }
  guard::Report report{};
  if (recv(control, &report, sizeof(report), MSG_DONTWAIT) != sizeof(report)) return std::nullopt;
  return report;
}

// The guard's end of the pair closes when it dies; then only the reaping is left.
bool wait_gone(pid_t pid, int control, Patience& patience) {
  pollfd poll_fd{control, 0, 0};
  for (;;) {
    const bool closed = poll(&poll_fd, 1, kLookMs) > 0;
    const pid_t got = waitpid(pid, nullptr, WNOHANG);
    if (got == pid) return true;
    if (got < 0 && errno != EINTR) return false;
    patience.look(pid);
    if (patience.is_over(kProbeLimit)) return false;
    if (closed) (void)poll(nullptr, 0, 1);
  }
}

// Best first, of those that this kernel knows.
std::vector<guard::SignalScope> signal_scopes() {
  std::vector<guard::SignalScope> scopes;
  const unsigned ask_version = 1;  // LANDLOCK_CREATE_RULESET_VERSION
  constexpr long kCreateRuleset = 444;
  if (syscall(kCreateRuleset, nullptr, 0, ask_version) >= kLandlockWithSignals)
    scopes.push_back(guard::SignalScope::kLandlock);
  scopes.push_back(guard::SignalScope::kFilter);
  scopes.push_back(guard::SignalScope::kNone);
  return scopes;
}

// What stands at the end of a recipe: the guard's probe child has left a daemon (double fork, own session,
// deaf to SIGTERM) behind. It must be visible below the guard, and gone after the kill.
std::string check_kill(GuardProcess& guard) {
  Patience patience;
  for (;;) {
    const auto report = next_report(guard.process.pid, guard.control.get(), patience);
    if (!report) return "the guard gave no answer";
    if (report->type == guard::ReportType::kSpawnFailed) {
      return Error::system(std::string("start a child (") + report->step + ")", report->value).what;
    }
    if (report->type != guard::ReportType::kLeaderExited) continue;
    if (report->value != 0) return "the probe's child failed";
    break;
  }
  if (guard::descendants(guard.process.pid).empty())
    return "/proc/PID/task/TID/children does not show a daemon";
  const guard::Command kill_command{guard::CommandType::kKill, 0};
  (void)send(guard.control.get(), &kill_command, sizeof(kill_command), MSG_NOSIGNAL);
  if (!wait_gone(guard.process.pid, guard.control.get(), patience)) return "a daemon survived the kill";
  if (guard.leaf && !guard.leaf->empty()) return "the cgroup was not empty after cgroup.kill";
  return "";
}

std::string try_recipe(Recipe& recipe) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return Error::system("open /dev/null", errno).what;
  GuardSetup setup;
  setup.in = setup.out = setup.err = null.get();
  auto started = start_guard(recipe, {recipe.guard, "--probe"}, {}, "/", setup);
  if (auto* error = std::get_if<SpawnError>(&started)) return Error::system(error->step, error->err).what;
  auto& guard = std::get<GuardProcess>(started);
  recipe.own_pids = guard.process.chose_pid;
  const std::string problem = check_kill(guard);
  if (!problem.empty()) {
    Sweep sweep(recipe, guard.process.pid, guard.leaf ? &*guard.leaf : nullptr, guard.containment_id);
    bool reaped = false;
    for (int round = 0; round < kProbeSweeps && !(sweep.round(reaped) && reaped); ++round) {
      reaped = reaped || waitpid(guard.process.pid, nullptr, WNOHANG) != 0;
      (void)poll(nullptr, 0, 1);
    }
  }
  if (guard.leaf) recipe.cgroup_watch->end(guard.watched);
  recipe.guards.erase(guard.process.pid);
  return problem;
}

// Where /proc hides from an ordinary user whom he may not trace, the runner can see nothing below a guard that is
// protected from its tests.
std::string try_recipe_either_way(Recipe& recipe) {
  std::string problem = try_recipe(recipe);
  if (problem.empty() || geteuid() == 0) return problem;
  recipe.dumpable_guard = true;
  return try_recipe(recipe);
}

}  // namespace

std::string try_signal_scopes(Recipe& recipe) {
  std::string problem;
  for (const auto scope : signal_scopes()) {
    recipe.signal_scope = scope;
    recipe.dumpable_guard = false;
    problem = try_recipe_either_way(recipe);
    if (problem.find(guard::kSignalScopeStep) == std::string::npos) break;
  }
  return problem;
}

std::string try_pid_namespaces(Recipe& recipe) {
  std::string problem;
  for (const bool user_namespace : {false, true}) {
    if (!user_namespace && geteuid() != 0) continue;
    for (const bool fresh_proc : {true, false}) {
      recipe.user_namespace = user_namespace;
      recipe.fresh_proc = fresh_proc;
      recipe.held_cgroups = true;
      problem = try_signal_scopes(recipe);
      if (problem.find(kReadOnlyStep) != std::string::npos) {
        recipe.held_cgroups = false;
        problem = try_signal_scopes(recipe);
      }
      if (problem.empty()) return problem;
    }
  }
  return problem;
}

}  // namespace proctor
