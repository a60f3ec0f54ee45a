#include "harness/process/containment.h"

#include <sys/prctl.h>
#include <unistd.h>

#include "harness/process/recipe.h"
#include "harness/process/sweep.h"

namespace proctor {

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
    LayerTrial trial = try_layer(layer, *guard, run_id);
    last = trial.probe;
    if (!trial.recipe) continue;
    std::unique_ptr<Containment> containment(new Containment());
    containment->probe_ = last;
    if (trial.recipe->run_cgroup) {
      containment->run_cgroup_ = trial.recipe->run_cgroup->path();
      containment->has_pids_limit_ = trial.recipe->run_cgroup->has_pids_limit();
    }
    containment->recipe_ = std::move(trial.recipe);
    containment->recipe_->frozen = std::make_unique<FrozenTime>();
    const auto mount = cgroup2_mount();
    const auto own = own_cgroup_directory();
    if (mount && own) containment->recipe_->quota = Quota(*own, *mount);
    return containment;
  }
  Error error =
      Error::usage("use containment " + std::string(to_string(last.layer)) + " here: " + last.why_not);
  if (!last.how_to_improve.empty()) error.hint = "To fix it, " + last.how_to_improve.front() + ".";
  return error;
}

std::vector<LayerProbe> Containment::probe_all() {
  std::vector<LayerProbe> probes;
  const auto guard = guard_path();
  for (const Layer layer : kAllLayers) {
    probes.push_back(guard ? try_layer(layer, *guard, "probe-" + std::to_string(getpid())).probe
                           : refused_layer(layer, guard.error().what));
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
