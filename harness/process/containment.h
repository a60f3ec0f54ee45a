// Contains the process tree of one case. Several layers share one interface. A row of
// harness/journal/containment_layer.h lists the parts of a layer. A row of process/layers.cc has its probe
// and the guarantees that it lacks. Each layer is probed once, as a whole, with a real child.
//
// In every layer, the parent of the case's leader is the guard (process/guard/), a small static program. If
// the kernel supports it, a signal scope (process/guard/signal_scope.h) keeps the case from signalling or
// tracing other processes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "harness/process/layers.h"

namespace proctor {

// Returns the path of the running executable; "" if /proc cannot be read.
std::string own_program();
// Returns the directory of that executable, without a slash at the end.
std::string own_directory();

// The layer in use, and the run's cgroup. The destructor removes the cgroup: all processes that were started
// through this object must have ended before it.
class Containment {
 public:
  // Probes `wanted`, or all layers beginning with the best. `run_id` names the run's cgroup. If `wanted` (or
  // the layer of `--containment '>=LAYER'`) does not work here, returns a usage error with the reason and the
  // fix. `known_file` keeps the result of the probe for other processes of the same session, which do not
  // repeat it. The result applies only in the same surroundings: guard, user, capabilities, namespaces and
  // cgroup. An empty `known_file` means that no result is kept. `programs` is the directory of the guard and
  // the probes.
  static Result<std::unique_ptr<Containment>> open(std::optional<Layer> wanted, const std::string& run_id,
                                                   const std::string& known_file = {},
                                                   const std::string& programs = own_directory());

  // Probes every layer with a real child, for `proctor doctor`.
  static std::vector<LayerProbe> probe_all(const std::string& programs = own_directory());

  ~Containment();
  Containment(const Containment&) = delete;
  Containment& operator=(const Containment&) = delete;

  const std::string& programs() const { return programs_; }
  const LayerProbe& probe() const { return probe_; }
  Layer layer() const { return probe_.layer; }
  ContainmentInfo info() const;
  // Directory of the run's cgroup, or "" outside the cgroup layer.
  const std::string& run_cgroup() const { return run_cgroup_; }
  // Returns true if a pids limit can be set for a case (pids.max in the leaf).
  bool has_pids_limit() const { return has_pids_limit_; }
  // Kills the remaining processes at the end of a run, blocking for at most `limit`. Returns those still
  // alive.
  std::vector<LeakedProcess> end_rest(Milliseconds limit);
  // Starts to measure frozen time.
  void watch_frozen_time();
  // See FrozenTime::take_notable().
  Milliseconds take_frozen();
  // The reason why waits for a CPU cannot be measured; "": they can.
  std::string why_no_pressure() const;
  // The recipe with which ContainedProcess starts a guard (process/recipe.h).
  Recipe& recipe() { return *recipe_; }

 private:
  Containment(LayerTrial trial, std::string programs);

  std::string programs_;
  LayerProbe probe_;
  std::string run_cgroup_;
  bool has_pids_limit_ = false;
  std::unique_ptr<Recipe> recipe_;
};

}  // namespace proctor
