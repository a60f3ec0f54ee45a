// Runs one command in one containment, from spawn to the proof that its processes are gone. Attempts and
// probes use it. State machine of a case:
//
//   starting --exec ok--> running --leader exits--> draining --pipes at EOF and nothing left--> ended
//      |                     |                         |
//      | refused             | timeout, stall, stop    | 200 ms of own time (output does not restart it)
//      v                     v                         v
//   ended(spawn error)    terminating --grace--> killing --empty--> ended
//                            (TERM+CONT to the tree)  `--reap deadline (30 s)--> ended(unkillable)
//
// The leader is the process that runs the command. After a timeout or a stall, and before the first signal,
// `on_limit` may inspect the process tree for at most `limit_hook`. If `pass_through` is set, the process counts
// as ended only when the reader has taken its output.
//
// The guard counts as lost if it ended without its final report (guard/protocol.h) or another process reaped
// it. A silent guard counts as lost if it is stopped or traced, or could run and did nothing for the reap
// deadline. The case then goes to killing from any state, and the runner kills the case and the guard
// (process/sweep.h). The runner waits for a guard that gets no CPU time. The same applies to draining and
// killed processes (process/fair_time.h).
//
// The leader's exit determines the outcome, even if another process still holds its pipes. SIGKILL to the
// whole containment always follows, even if the leader ended at the first signal.
//
// All functions are called on the event loop's only thread, and none blocks. `on_end` is called exactly once.
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

  // Starts at once. `on_end` reports a refusal too; it is posted and never called from start().
  static std::shared_ptr<ContainedProcess> start(boost::asio::io_context& io, Containment& containment,
                                                 ProcessSpec spec, OnEnd on_end);

  virtual ~ContainedProcess() = default;

  // Ends the case early: sends `signal` to the tree, then SIGKILL after `grace` (0: SIGKILL at once). A
  // second call only shortens the grace.
  virtual void stop(int signal, Milliseconds grace) = 0;

  // Restarts the limits for the next case in the same process. Both count from now.
  virtual void restart_clock(const ProcessLimits& limits) = 0;

  // Stops and continues all processes of the case. The limits still count, unless the runner is stopped too
  // (process/frozen_time.h).
  virtual void freeze() = 0;
  virtual void thaw() = 0;

  // The leader's pid as the runner sees it, 0 before it runs. For evidence only.
  virtual int leader_pid() const = 0;
};

// Runs one command to its end on a private loop, for discovery and probes. `spec.limits.timeout` is required.
ProcessEnd run_contained(Containment& containment, ProcessSpec spec);

}  // namespace proctor
