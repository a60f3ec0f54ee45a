// What holds the process tree of one case. Several layers stand behind one interface: what each is made of is a row of
// harness/core/containment_layer.h, how it is tried and what it does not guarantee one of process/layers.cc. Each is
// probed once as a whole with a real child (process/try_recipe.h).
//
// In every layer a signal scope keeps what the case signals and traces inside the case, as far as the kernel has one
// (process/guard/signal_scope.h), and the parent of the case's leader is the guard (process/guard/), a small static program.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/clock.h"
#include "harness/core/duration.h"
#include "harness/core/events.h"
#include "harness/core/result.h"
#include "harness/process/layers.h"

namespace proctor {

// The layer in use, with what the runner keeps open for it (the directory of the run's cgroup). The
// destructor removes that cgroup, so every process that was started through this object must be gone by then.
class Containment {
 public:
  // Probes `wanted`, or all layers beginning with the best. `run_id` names the run's cgroup. If `wanted` (or
  // the layer of --require-containment) does not work here, the result is a usage error that says why and how
  // to mend it.
  static Result<std::unique_ptr<Containment>> open(std::optional<Layer> wanted, const std::string& run_id);

  // Tries every layer with a real child, for `proctor doctor`.
  static std::vector<LayerProbe> probe_all();

  ~Containment();
  Containment(const Containment&) = delete;
  Containment& operator=(const Containment&) = delete;

  const LayerProbe& probe() const { return probe_; }
  Layer layer() const { return probe_.layer; }
  ContainmentInfo info() const;
  // Directory of the run's cgroup, or "" outside the cgroup layer.
  const std::string& run_cgroup() const { return run_cgroup_; }
  // Whether a pids limit can be set for a case (pids.max in the leaf).
  bool has_pids_limit() const { return has_pids_limit_; }
  // At the end of a run: ends what is not over, blocking for at most `limit`. What is alive then is returned.
  std::vector<Stray> end_rest(Milliseconds limit);
  // From here on frozen time is known.
  void watch_frozen_time();
  // For how long this process has not run although it could have (process/frozen_time.h).
  Clock::duration frozen() const;
  // Why nobody can tell that a case was kept from the processors; "" where somebody can.
  std::string why_no_pressure() const;
  // How ContainedProcess starts a guard in this containment (process/recipe.h).
  Recipe& recipe() { return *recipe_; }

 private:
  Containment();

  LayerProbe probe_;
  std::string run_cgroup_;
  bool has_pids_limit_ = false;
  std::unique_ptr<Recipe> recipe_;
};

}  // namespace proctor
