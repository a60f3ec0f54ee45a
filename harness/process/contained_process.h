// One command in one containment, from spawn to proof of death. This is the state machine of a case:
//
//   starting --exec ok--> running --leader exits--> draining --pipes at EOF and nothing left--> ended
//      |                     |                         |
//      | refused             | timeout, stall, stop    | 200 ms in which it could run (never re-armed by output)
//      v                     v                         v
//   ended(spawn error)    terminating --grace--> killing --empty--> ended
//                            (TERM+CONT to the tree)  `--reap deadline (30 s)--> ended(unreapable)
//
// After a timeout or a stall, and before the first signal, `on_limit` may look at the tree for as long as
// `limit_hook`. With `pass_through`, the process counts as ended only when the reader has taken its output.
//
// A guard is lost for a fact: it ended without its word (guard/protocol.h), somebody else reaped it, or it is silent and
// somebody stopped it, traces it, or it could run and did nothing for the reap deadline. From any state the case then
// goes to killing, and the runner itself ends the case and the guard (process/sweep.h). A guard that is silent because
// it gets no processor is waited for. So is what drains and what was killed (process/fair_time.h).
//
// The leader's exit decides the verdict, even if another process still holds its pipes. SIGKILL to the whole
// containment always follows, also when the leader died on the first signal.
//
// All functions are called on the engine's only thread, and none blocks. `on_end` is called exactly once.
#pragma once

#include <functional>
#include <memory>

#include "harness/process/process_spec.h"

namespace boost::asio {
class io_context;
}

namespace proctor {

class Containment;

class ContainedProcess {
 public:
  using OnEnd = std::function<void(ProcessEnd)>;

  // Starts at once; a refusal is reported through `on_end` (posted, never called from inside start).
  static std::shared_ptr<ContainedProcess> start(boost::asio::io_context& io, Containment& containment,
                                                 ProcessSpec spec, OnEnd on_end);

  virtual ~ContainedProcess() = default;

  // Ends the case early: sends `signal` to the tree, then SIGKILL after `grace` (0: SIGKILL at once). A
  // second call only shortens the grace.
  virtual void stop(int signal, Milliseconds grace) = 0;

  // Restarts the limits for the next case in the same process. Both count from now.
  virtual void restart_clock(const ProcessLimits& limits) = 0;

  // Holds all processes of the case, and lets them go on. The limits go on meanwhile, unless the runner is stopped too
  // (process/frozen_time.h).
  virtual void freeze() = 0;
  virtual void thaw() = 0;

  // The leader's pid as the runner sees it, 0 before it runs. For evidence only.
  virtual int leader_pid() const = 0;
};

// Runs one command to its end on a private loop. Used by discovery and probes. `spec.limits.timeout` is
// required.
ProcessEnd run_contained(Containment& containment, ProcessSpec spec);

}  // namespace proctor
