// How the runner ends processes itself, when a guard is dead, is held by somebody, or does not say the truth:
// by the cgroup's own kill, by descent from the guard and from the runner, and by the containment id in the environment
// (core/child_protocol.h, kContainmentVariable). Round after round, until a round finds nothing.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "harness/core/duration.h"
#include "harness/core/events.h"
#include "harness/process/cgroup.h"

namespace proctor {

struct Recipe;

// Ends one case.
class Sweep {
 public:
  // `leaf` may be null; it and `recipe` must live as long as this.
  Sweep(Recipe& recipe, pid_t guard, const Cgroup* leaf, std::string containment_id)
      : recipe_(recipe), guard_(guard), leaf_(leaf), containment_id_(std::move(containment_id)) {}

  // SIGKILL to all that is found, and to the guard unless it is `reaped` by now. True when nothing was found.
  // Takes a bounded time; what is killed needs a moment to be gone, so the caller waits between two rounds.
  bool round(bool reaped);

  // What it has sent SIGKILL to, without the guard; at most 64 are named.
  const std::vector<Stray>& found() const { return found_; }

  // What the last round could not look at, which may be of the case: then it has not found everything. "": nothing.
  const std::string& doubt() const { return doubt_; }

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
  std::vector<Stray> found_;
  std::string doubt_;
};

// The last net, at the end of a run: ends every case that is not over, with its guard, and what was left of
// those that could not be ended. Blocks for at most `limit`. What is alive then is returned.
std::vector<Stray> sweep_rest(Recipe& recipe, Milliseconds limit);

}  // namespace proctor
