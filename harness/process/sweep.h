// Kills the processes of a case from the runner, if the guard is dead, stopped or traced, or makes a false
// report. It finds the processes through the cgroup, as descendants of the guard and of the runner, and by
// the containment id in their environment (journal/child_protocol.h, kContainmentVariable). It repeats this
// until a round finds none.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/journal/events.h"
#include "harness/process/cgroup.h"

namespace proctor {

struct Recipe;

// Kills one case.
class Sweep {
 public:
  // `leaf` may be null. `leaf` and `recipe` must outlive this object.
  Sweep(Recipe& recipe, pid_t guard, const Cgroup* leaf, std::string containment_id)
      : recipe_(recipe), guard_(guard), leaf_(leaf), containment_id_(std::move(containment_id)) {}

  // Sends SIGKILL to all processes found, and to the guard unless it is already `reaped`. Returns true if
  // none was found. It takes a limited time. The caller waits between two rounds, because killed processes
  // need time to end.
  bool round(bool reaped);

  // The processes to which SIGKILL was sent, without the guard; at most 64.
  const std::vector<LeakedProcess>& found() const { return found_; }

  // A process that the last round could not read, and that may belong to the case. "": all were read.
  const std::string& suspicion() const { return suspicion_; }

 private:
  bool end_leaf();
  bool end_guard();
  bool end_orphans();
  bool end_by_id();
  void name(pid_t pid);

  Recipe& recipe_;
  pid_t guard_;
  const Cgroup* leaf_;
  std::string containment_id_;
  std::set<pid_t> named_;
  std::vector<LeakedProcess> found_;
  std::string suspicion_;
};

// Kills, at the end of a run, every case that has not ended, its guard, and the processes that could not be
// killed before. Blocks for at most `limit`. Returns the processes still alive.
std::vector<LeakedProcess> sweep_rest(Recipe& recipe, Milliseconds limit);

}  // namespace proctor
