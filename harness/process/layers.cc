#include "harness/process/layers.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/base/unique_fd.h"
#include "harness/process/cgroup.h"
#include "harness/process/fair_time.h"
#include "harness/process/guard/protocol.h"
#include "harness/process/guard/signal_scope.h"
#include "harness/process/guard/tree.h"
#include "harness/process/recipe.h"
#include "harness/process/sweep.h"

namespace proctor {
namespace {

// ---- the trial of a recipe ----
// The trial runs the recipe as a whole with a real child that leaves a daemon behind, because a feature that
// exists can still be refused (seccomp, sysctl, delegation). Both try_ functions store the working settings
// in the recipe, and return the reason of a failure.

constexpr Milliseconds kProbeLimit{10'000};  // time for the guard, without its waits for a CPU
constexpr int kPollMs = 1'000;
constexpr int kProbeSweeps = 1000;
constexpr long kLandlockWithSignals = 6;  // ABI version, Linux 6.12

// Returns the next report of the guard, or nullopt if its end is closed or its time is over.
std::optional<guard::Report> next_report(pid_t pid, int control, Patience& patience) {
  pollfd poll_fd{control, POLLIN, 0};
  while (poll(&poll_fd, 1, kPollMs) <= 0) {
    patience.sample(pid);
    if (patience.is_over(kProbeLimit)) return std::nullopt;
  }
  guard::Report report{};
  if (recv(control, &report, sizeof(report), MSG_DONTWAIT) != sizeof(report)) return std::nullopt;
  return report;
}

// The guard's end of the pair closes when the guard dies. Then only the reaping remains.
bool wait_gone(pid_t pid, int control, Patience& patience) {
  pollfd poll_fd{control, 0, 0};
  for (;;) {
    const bool closed = poll(&poll_fd, 1, kPollMs) > 0;
    const pid_t got = waitpid(pid, nullptr, WNOHANG);
    if (got == pid) return true;
    if (got < 0 && errno != EINTR) return false;
    patience.sample(pid);
    if (patience.is_over(kProbeLimit)) return false;
    if (closed) (void)poll(nullptr, 0, 1);
  }
}

// The scopes that this kernel supports, with the best first.
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

// The final step of a trial: the guard's probe child has left a daemon behind (double fork, own session,
// ignores SIGTERM). The daemon must be visible below the guard, and gone after the kill.
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

// Retries with a dumpable guard. If /proc hides processes that a user may not trace, the runner of an
// ordinary user cannot see the processes below a protected guard.
std::string try_recipe_either_way(Recipe& recipe) {
  std::string problem = try_recipe(recipe);
  if (problem.empty() || geteuid() == 0) return problem;
  recipe.dumpable_guard = true;
  return try_recipe(recipe);
}

// Tries the signal scopes from the best one that the kernel supports to none.
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

// Tries without a user namespace (root), then with one, and each with a new /proc, then without: a container
// that masks parts of /proc refuses the mount.
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

using guard::SignalScope;

// ---- fixes of a layer ----

bool sysctl_is(const char* path, int value) {
  std::ifstream file(path);
  int got = 0;
  return static_cast<bool>(file >> got) && got == value;
}

std::string fix_hint_cgroup() {
  if (geteuid() == 0)
    return "give the container a writable cgroup2: --cgroupns=private with /sys/fs/cgroup mounted rw";
  return "start it in a delegated scope: systemd-run --user --scope -p Delegate=yes proctor ...";
}

std::string fix_hint_pidns() {
  if (sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1)) {
    return "allow user namespaces: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0";
  }
  if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", 0)) {
    return "allow user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1";
  }
  if (sysctl_is("/proc/sys/user/max_user_namespaces", 0)) {
    return "allow user namespaces: sudo sysctl user.max_user_namespaces=15000";
  }
  return "let the container make user and PID namespaces: docker run --security-opt seccomp=FILE, "
         "the seccomp.json of Proctor's images (docs/how-to/stacks.md)";
}

std::string fix_hint_pids_controller() { return "delegate the pids controller to this cgroup"; }
std::string fix_hint_hidepid() { return "mount -o remount,hidepid=0 /proc, or gid= of a group of this user"; }
std::string fix_hint_masked_proc() {
  return "unmask /proc: docker run --security-opt systempaths=unconfined";
}
std::string fix_hint_set_uid() { return "set `host_pids = true` for a suite that needs sudo"; }
std::string fix_hint_signals() { return "use Linux 6.12 with Landlock, or a PID namespace"; }
std::string fix_hint_shared_pids() {
  return "make /proc/sys/kernel/ns_last_pid writable (CONFIG_CHECKPOINT_RESTORE; docker run --security-opt "
         "systempaths=unconfined)";
}
std::string fix_hint_shared_cgroups() {
  return "run with --containment cgroup+pidns, on Linux 5.12 or newer";
}
std::string fix_hint_root() { return "run as a user other than root, or with --containment pidns"; }

// ---- missing guarantees of a layer ----

struct Caveat {
  std::string_view lack;
  bool (*applies)(const Recipe&);
  std::string (*fix_hint)();
};

bool always(const Recipe&) { return true; }
bool is_dumpable(const Recipe& recipe) { return recipe.dumpable_guard; }
bool has_host_proc(const Recipe& recipe) { return !recipe.fresh_proc; }
bool has_user_namespace(const Recipe& recipe) { return recipe.user_namespace; }
bool has_filter(const Recipe& recipe) { return recipe.signal_scope == SignalScope::kFilter; }
bool has_no_scope(const Recipe& recipe) { return recipe.signal_scope == SignalScope::kNone; }
bool is_root_without_landlock(const Recipe& recipe) {
  return geteuid() == 0 && recipe.signal_scope != SignalScope::kLandlock;
}
bool is_user_without_scope(const Recipe& recipe) { return geteuid() != 0 && has_no_scope(recipe); }
bool shares_pids(const Recipe& recipe) { return !recipe.own_pids; }
bool shares_cgroups(const Recipe& recipe) { return !recipe.held_cgroups || !has_pid_namespace(recipe.layer); }
bool has_no_pids_limit(const Recipe& recipe) { return !recipe.run_cgroup->has_pids_limit(); }

constexpr std::string_view kForkBomb =
    "no limit on the number of processes: a fork bomb takes the whole machine";

constexpr Caveat kTracedGuard{"a test can trace its guard, because /proc is mounted with hidepid",
                              is_dumpable, fix_hint_hidepid};
constexpr Caveat kHostProc{"/proc shows the host's pids: a test that opens /proc/<getpid()> misreads",
                           has_host_proc, fix_hint_masked_proc};
constexpr Caveat kUserNamespace{
    "tests run in a user namespace: files of other users appear to belong to user 65534, and set-uid "
    "programs "
    "gain no rights",
    has_user_namespace, fix_hint_set_uid};
constexpr Caveat kOutlivesInLeaf{
    "a case survives if runner and guard are killed together, until `proctor finish` or the next run kills "
    "it",
    always, fix_hint_pidns};
constexpr Caveat kOutlives{
    "a process that left by double fork survives a SIGKILL of runner and guard together", always,
    fix_hint_pidns};
constexpr Caveat kPidfd{
    "a test can signal the runner through a pidfd; kill() of -1 and of the runner is refused", has_filter,
    fix_hint_signals};
constexpr Caveat kSignals{"a test can signal and limit the runner and all other processes of its user",
                          has_no_scope, fix_hint_signals};
constexpr Caveat kRootInLeaf{
    "a root test can leave its cgroup without effect, and can make the guard report by ptrace "
    "that no process is left",
    is_root_without_landlock, fix_hint_root};
constexpr Caveat kRoot{"a root test can make the guard report by ptrace that no process is left",
                       is_root_without_landlock, fix_hint_root};
constexpr Caveat kSetUid{
    "a set-uid program that becomes root cannot be killed: it is reported, and it survives",
    is_user_without_scope, fix_hint_pidns};
constexpr Caveat kSharedPids{
    "every case has the pid 2: tests that name files or ports by their pid disturb each other", shares_pids,
    fix_hint_shared_pids};
constexpr Caveat kSharedCgroups{
    "a test that may write to the cgroup of the run can kill, freeze and limit the other cases",
    shares_cgroups, fix_hint_shared_cgroups};
constexpr Caveat kNoPidsController{kForkBomb, has_no_pids_limit, fix_hint_pids_controller};
constexpr Caveat kNoPidsLimit{kForkBomb, always, fix_hint_cgroup};
constexpr Caveat kForkRace{"killing a process that forks all the time is a race without a proven end", always,
                           fix_hint_pidns};

// ---- the layers ----

struct LayerRow {
  Layer layer;
  std::string (*try_recipe)(Recipe&);          // returns "" if the layer works
  std::array<std::string (*)(), 2> fix_hints;  // fixes if the layer does not work
  std::array<const Caveat*, 7> caveats;        // missing guarantees if it works, in the order of the output
};

//   cgroup     A leaf of cgroup v2, ended by cgroup.kill. A process can leave it only by writing to another
//              cgroup.procs, which needs rights. Processes that a root test moved out are killed later. The
//              layer needs a cgroup2 subtree that it can write to.
//   pidns      A PID namespace whose PID 1 is the guard, inside a user namespace unless the runner is root. The
//              kernel guarantees that no process escapes.
//   cgroup+pidns  Both: the leaf's limits and its kill, and a case that can name neither the runner nor any other
//              process outside.
//   subreaper  The guard adopts orphans and kills until none is left. This works in practice but is not proven: a
//              process that left by a double fork survives a SIGKILL of the runner *and* the guard together.
constexpr std::array<LayerRow, kLayers.size()> kRows{{
    {Layer::kCgroupPidns,
     try_pid_namespaces,
     {fix_hint_cgroup, fix_hint_pidns},
     {&kTracedGuard, &kHostProc, &kUserNamespace, &kSharedPids, &kSharedCgroups, &kNoPidsController}},
    {Layer::kCgroup,
     try_signal_scopes,
     {fix_hint_cgroup},
     {&kTracedGuard, &kOutlivesInLeaf, &kPidfd, &kSignals, &kRootInLeaf, &kSharedCgroups,
      &kNoPidsController}},
    {Layer::kPidns,
     try_pid_namespaces,
     {fix_hint_pidns},
     {&kTracedGuard, &kHostProc, &kUserNamespace, &kSharedPids, &kNoPidsLimit}},
    {Layer::kSubreaper,
     try_signal_scopes,
     {},
     {&kTracedGuard, &kOutlives, &kPidfd, &kSignals, &kRoot, &kSetUid, &kForkRace}},
}};

constexpr const LayerRow& row_of(Layer layer) { return kRows.at(static_cast<std::size_t>(layer)); }

static_assert(std::ranges::all_of(kRows,
                                  [](const LayerRow& row) {
                                    return &row_of(row.layer) == &row && row.try_recipe != nullptr &&
                                           row.caveats.front() != nullptr;
                                  }),
              "each layer has a row, in the order of Layer, with all of its columns");

void add_fix_hint(LayerProbe& probe, std::string fix_hint) {
  if (std::ranges::find(probe.how_to_improve, fix_hint) == probe.how_to_improve.end())
    probe.how_to_improve.push_back(std::move(fix_hint));
}

std::string signals_of(const Recipe& recipe) {
  switch (recipe.signal_scope) {
    case SignalScope::kLandlock:
      return "landlock";
    case SignalScope::kFilter:
      return "seccomp";
    case SignalScope::kNone:
      break;
  }
  return "";
}

LayerProbe working_layer(const Recipe& recipe) {
  LayerProbe probe;
  probe.layer = recipe.layer;
  probe.works = true;
  probe.signals = signals_of(recipe);
  for (const Caveat* caveat : row_of(recipe.layer).caveats) {
    if (caveat == nullptr || !caveat->applies(recipe)) continue;
    probe.not_guaranteed.emplace_back(caveat->lack);
    add_fix_hint(probe, caveat->fix_hint());
  }
  return probe;
}

}  // namespace

LayerProbe refused_layer(Layer layer, const std::string& why_not) {
  LayerProbe probe;
  probe.layer = layer;
  probe.why_not = why_not;
  for (const auto fix_hint : row_of(layer).fix_hints) {
    if (fix_hint != nullptr) add_fix_hint(probe, fix_hint());
  }
  return probe;
}

LayerTrial try_layer(Layer layer, const std::string& guard, const std::string& run_id,
                     const ProbedLayer* known) {
  auto recipe = std::make_unique<Recipe>();
  recipe->layer = layer;
  recipe->guard = guard;
  recipe->run_id = run_id;
  if (has_cgroup(layer)) {
    const auto parent = own_cgroup_directory();
    if (!parent) return {refused_layer(layer, parent.error().what), nullptr};
    auto run = RunCgroup::create(*parent, run_id);
    if (!run) return {refused_layer(layer, run.error().what), nullptr};
    recipe->run_cgroup.emplace(*std::move(run));
    recipe->cgroup_watch.emplace(recipe->run_cgroup->path());
  }
  if (known != nullptr) {
    static_cast<ProbedLayer&>(*recipe) = *known;
  } else if (const std::string problem = row_of(layer).try_recipe(*recipe); !problem.empty()) {
    return {refused_layer(layer, problem), nullptr};
  }
  LayerProbe probe = working_layer(*recipe);
  return {std::move(probe), std::move(recipe)};
}

}  // namespace proctor
