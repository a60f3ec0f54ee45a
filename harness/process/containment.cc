#include "harness/process/containment.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "harness/core/text.h"
#include "harness/process/fair_time.h"
#include "harness/process/guard/tree.h"
#include "harness/process/recipe.h"
#include "harness/process/sweep.h"

namespace proctor {
namespace {

constexpr Milliseconds kProbeLimit{10'000};  // in which the guard could run
constexpr int kLookMs = 1'000;
constexpr int kProbeSweeps = 1000;
constexpr long kLandlockWithSignals = 6;  // ABI version, Linux 6.12

struct Trial {
  std::optional<Recipe> recipe;  // when it works
  std::string why_not;
};

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
  GuardSetup setup;
  setup.in = setup.out = setup.err = null.get();
  auto started = start_guard(recipe, {recipe.guard, "--probe"}, {}, "/", setup);
  if (auto* error = std::get_if<SpawnError>(&started)) return Error::system(error->step, error->err).what;
  auto& guard = std::get<GuardProcess>(started);
  const std::string problem = check_kill(guard);
  if (!problem.empty()) {
    Sweep sweep(recipe, guard.process.pid, guard.leaf ? &*guard.leaf : nullptr, guard.mark);
    bool reaped = false;
    for (int round = 0; round < kProbeSweeps && !(sweep.round(reaped) && reaped); ++round) {
      reaped = reaped || waitpid(guard.process.pid, nullptr, WNOHANG) != 0;
      (void)poll(nullptr, 0, 1);
    }
  }
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

// From the best signal scope that the kernel knows to none; whether it may be used is seen by using it.
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

// From the fullest recipe to the barest: without a user namespace (root), then with; with a /proc of its own,
// then without (a container that masks parts of /proc refuses the mount).
std::string try_pid_namespaces(Recipe& recipe) {
  std::string problem;
  for (const bool user_namespace : {false, true}) {
    if (!user_namespace && geteuid() != 0) continue;
    for (const bool fresh_proc : {true, false}) {
      recipe.user_namespace = user_namespace;
      recipe.fresh_proc = fresh_proc;
      problem = try_signal_scopes(recipe);
      if (problem.empty()) return problem;
    }
  }
  return problem;
}

Trial try_layer(Layer layer, const std::string& guard, const std::string& run_id) {
  Recipe recipe;
  recipe.layer = layer;
  recipe.guard = guard;
  recipe.run_id = run_id;
  if (has_cgroup(layer)) {
    const auto parent = own_cgroup_directory();
    if (!parent) return {std::nullopt, parent.error().what};
    auto run = RunCgroup::create(*parent, run_id);
    if (!run) return {std::nullopt, run.error().what};
    recipe.run_cgroup.emplace(*std::move(run));
  }
  std::string problem = has_pid_namespace(layer) ? try_pid_namespaces(recipe) : try_signal_scopes(recipe);
  if (!problem.empty()) return {std::nullopt, std::move(problem)};
  return {std::move(recipe), ""};
}

bool sysctl_is(const char* path, int value) {
  std::ifstream file(path);
  int got = 0;
  return static_cast<bool>(file >> got) && got == value;
}

std::string mend_cgroup() {
  if (geteuid() == 0)
    return "give the container a writable cgroup2: --cgroupns=private with /sys/fs/cgroup mounted rw";
  return "start it in a delegated scope: systemd-run --user --scope -p Delegate=yes proctor ...";
}

std::string mend_pidns() {
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
         "the seccomp.json beside our images (docs/stacks.md)";
}

class Promises {
 public:
  explicit Promises(LayerProbe& probe) : probe_(probe) {}
  void lack(std::string what, std::string mend) {
    probe_.not_guaranteed.push_back(std::move(what));
    const auto& known = probe_.how_to_improve;
    if (std::find(known.begin(), known.end(), mend) == known.end())
      probe_.how_to_improve.push_back(std::move(mend));
  }

 private:
  LayerProbe& probe_;
};

void describe_cgroup(const Recipe& recipe, Promises& promises) {
  if (recipe.run_cgroup->has_pids_limit()) return;
  promises.lack("no limit on the number of processes: a fork bomb takes the whole machine",
                "delegate the pids controller to this cgroup");
}

void describe_pid_namespace(const Recipe& recipe, Promises& promises) {
  if (!recipe.fresh_proc) {
    promises.lack("/proc shows the host's pids: a test that opens /proc/<getpid()> misreads",
                  "unmask /proc: docker run --security-opt systempaths=unconfined");
  }
  if (recipe.user_namespace) {
    promises.lack(
        "tests run in a user namespace: files of other users look like nobody's, and set-uid programs gain "
        "nothing",
        "set `host_pids = true` for a suite that needs sudo");
  }
}

void describe_host_pids(const Recipe& recipe, Promises& promises) {
  const bool confined = recipe.signal_scope == guard::SignalScope::kLandlock;
  promises.lack(
      recipe.layer == Layer::kCgroup
          ? "what kills runner and guard together lives on, until `proctor finish` or the next run ends it"
          : "what has left by double fork outlives a SIGKILL of runner and guard together",
      mend_pidns());
  if (!confined) {
    promises.lack(
        recipe.signal_scope == guard::SignalScope::kFilter
            ? "a test can signal the runner on purpose, by a pidfd; kill() of -1 and of the runner is refused"
            : "a test can signal the runner and everything else of its user",
        "use Linux 6.12 with Landlock, or a PID namespace");
  }
  if (geteuid() == 0) {
    if (confined) return;
    promises.lack(
        recipe.layer == Layer::kCgroup
            ? "a root test can leave its cgroup, which alone does not help it, and can make the guard say by "
              "ptrace that nothing is left"
            : "a root test can make the guard say by ptrace that nothing is left",
        "run as an ordinary user, or with --containment pidns");
  } else if (recipe.layer == Layer::kSubreaper && recipe.signal_scope == guard::SignalScope::kNone) {
    promises.lack("a set-uid program that becomes root cannot be killed: it is named, and lives on",
                  mend_pidns());
  }
}

void describe(const Recipe& recipe, LayerProbe& probe) {
  probe.works = true;
  probe.fresh_proc = recipe.fresh_proc;
  probe.user_namespace = recipe.user_namespace;
  probe.signals = recipe.signal_scope == guard::SignalScope::kLandlock ? "landlock"
                  : recipe.signal_scope == guard::SignalScope::kFilter ? "seccomp"
                                                                       : "";
  Promises promises(probe);
  if (recipe.dumpable_guard) {
    promises.lack("a test can trace its guard, because /proc is mounted with hidepid",
                  "mount -o remount,hidepid=0 /proc, or gid= of a group of this user");
  }
  if (has_pid_namespace(recipe.layer)) {
    describe_pid_namespace(recipe, promises);
  } else {
    describe_host_pids(recipe, promises);
  }
  if (has_cgroup(recipe.layer)) {
    describe_cgroup(recipe, promises);
  } else if (has_pid_namespace(recipe.layer)) {
    promises.lack("no limit on the number of processes: a fork bomb takes the whole machine", mend_cgroup());
  } else {
    promises.lack("killing a process that forks all the time is a race without a proven end", mend_pidns());
  }
}

LayerProbe probe_of(Layer layer, const Trial& trial) {
  LayerProbe probe;
  probe.layer = layer;
  if (trial.recipe) {
    describe(*trial.recipe, probe);
    return probe;
  }
  probe.why_not = trial.why_not;
  if (has_cgroup(layer)) probe.how_to_improve.push_back(mend_cgroup());
  if (has_pid_namespace(layer)) probe.how_to_improve.push_back(mend_pidns());
  return probe;
}

}  // namespace

Containment::Containment() = default;
Containment::~Containment() = default;

Result<std::unique_ptr<Containment>> Containment::open(std::optional<Layer> wanted,
                                                       const std::string& run_id) {
  const auto guard = guard_path();
  if (!guard) return guard.error();
  // Orphans of a guard that a test killed come to the runner instead of the machine's init.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // A test of the same user cannot trace this process, nor read its memory. Root can, where no signal scope is.
  prctl(PR_SET_DUMPABLE, 0);
  LayerProbe last;
  for (const Layer layer : kAllLayers) {
    if (wanted && layer != *wanted) continue;
    Trial trial = try_layer(layer, *guard, run_id);
    last = probe_of(layer, trial);
    if (!trial.recipe) continue;
    std::unique_ptr<Containment> containment(new Containment());
    containment->probe_ = last;
    if (trial.recipe->run_cgroup) {
      containment->run_cgroup_ = trial.recipe->run_cgroup->path();
      containment->has_pids_limit_ = trial.recipe->run_cgroup->has_pids_limit();
    }
    containment->recipe_ = std::make_unique<Recipe>(*std::move(trial.recipe));
    containment->recipe_->frozen = std::make_unique<FrozenTime>();
    const auto mount = cgroup2_mount();
    const auto own = own_cgroup_directory();
    if (mount && own) containment->recipe_->quota = Quota(*own, *mount);
    return containment;
  }
  Error error =
      Error::usage("use containment " + std::string(to_string(last.layer)) + " here: " + last.why_not);
  if (!last.how_to_improve.empty()) error.hint = "To mend it, " + last.how_to_improve.front() + ".";
  return error;
}

std::vector<LayerProbe> Containment::probe_all() {
  std::vector<LayerProbe> probes;
  const auto guard = guard_path();
  for (const Layer layer : kAllLayers) {
    Trial trial;
    if (guard) {
      trial = try_layer(layer, *guard, "probe-" + std::to_string(getpid()));
    } else {
      trial.why_not = guard.error().what;
    }
    probes.push_back(probe_of(layer, trial));
  }
  return probes;
}

void Containment::watch_frozen_time() { recipe_->frozen->watch(); }

Clock::duration Containment::frozen() const { return recipe_->frozen->total(); }

std::string Containment::why_no_pressure() const {
  if (tells_pressure(run_cgroup_)) return "";
  return run_cgroup_.empty() ? "the kernel has no /proc/PID/schedstat (CONFIG_SCHED_INFO)"
                             : "the kernel has no cpu.pressure in " + run_cgroup_ + " (CONFIG_PSI; psi=1)";
}

std::vector<Stray> Containment::end_rest(Milliseconds limit) { return sweep_rest(*recipe_, limit); }

ContainmentInfo Containment::info() const {
  return {std::string(to_string(layer())), probe_.not_guaranteed, probe_.how_to_improve, probe_.signals};
}

}  // namespace proctor
