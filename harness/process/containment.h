// What holds the process tree of one case. Three layers behind one interface; the whole recipe of
// each is probed once with a real child, because a feature that exists may still be refused
// (seccomp, sysctl, delegation).
//
//   cgroup     cgroup v2 leaf, cgroup.kill. Nothing that cannot write another cgroup.procs escapes; what a
//              root test moved out is swept afterwards. It needs a writable cgroup2 subtree.
//   pidns      PID namespace (user namespace too when not root), the guard is PID 1. The kernel guarantees
//              that nothing escapes.
//   subreaper  The guard adopts orphans and kills until none is left. Bounded in practice, not by proof;
//              what has left by double fork outlives a SIGKILL of the runner *and* the guard together.
//
// Under every layer the parent of the case's leader is the guard (process/guard/), a small static program.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/result.h"

namespace proctor {

enum class Layer { kCgroup, kPidns, kSubreaper };

inline constexpr Layer kAllLayers[] = {Layer::kCgroup, Layer::kPidns, Layer::kSubreaper};  // best first

std::string_view to_string(Layer layer);
std::optional<Layer> parse_layer(std::string_view text);

struct LayerProbe {
  Layer layer = Layer::kSubreaper;
  bool works = false;
  std::string why_not;                      // one sentence with the failing step, when !works
  std::vector<std::string> not_guaranteed;  // when it works: one sentence each
  std::vector<std::string> how_to_improve;  // the one line that would mend it
  bool fresh_proc = false;                  // pidns: /proc inside shows the namespace's own pids
  bool user_namespace = false;              // pidns
};

// The layer to use, with what the runner keeps open for it (the run's cgroup directory). Destroying it
// removes the run's cgroup; every process started through it must be gone by then.
class Containment {
 public:
  // Probes `wanted`, or all layers best first. `run_id` names the run's cgroup. It is a usage error that
  // `wanted` (or --require-containment) does not work here; the error says why and how to mend it.
  static Result<std::unique_ptr<Containment>> open(std::optional<Layer> wanted, const std::string& run_id);

  // Every layer, tried with a real child; for `proctor doctor`.
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

 private:
  Containment();
  friend struct ContainmentAccess;
  struct State;

  LayerProbe probe_;
  std::string run_cgroup_;
  bool has_pids_limit_ = false;
  std::unique_ptr<State> state_;
};

}  // namespace proctor
