// One command in one containment, from spawn to proof of death. This is the state machine of a case:
//
//   starting --exec ok--> running --leader exits--> draining --pipes at EOF and nothing left--> ended
//      |                     |                         |
//      | refused             | timeout, stall, stop    | 200 ms (fixed, never re-armed by output)
//      v                     v                         v
//   ended(spawn error)    terminating --grace--> killing --empty--> ended
//                            (TERM+CONT to the tree)  `--reap deadline (30 s)--> ended(unreapable)
//
// After a timeout or a stall, and before the first signal, `on_limit` may look at the tree for as long as
// `limit_hook`. With `pass_through`, the process counts as ended only when the reader has taken its output.
//
// The leader's exit decides the verdict, even if another process still holds its pipes. SIGKILL to the whole
// containment always follows, also when the leader died on the first signal.
//
// All functions are called on the engine's only thread, and none blocks. `on_end` is called exactly once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/clock.h"
#include "harness/core/duration.h"
#include "harness/core/events.h"
#include "harness/core/result.h"
#include "harness/process/host_usage.h"

namespace boost::asio {
class io_context;
}

namespace proctor {

class Containment;
enum class Stream;

// Which step of starting a child failed; never confused with the child's own exit 127.
struct SpawnError {
  std::string step;  // "exec", "chdir", "clone", ...
  int err = 0;       // errno
};

struct ProcessLimits {
  std::optional<Milliseconds> timeout;
  std::optional<Milliseconds> stall;  // no byte on stdout, stderr or the events fd for so long
  Milliseconds grace{10'000};
};

struct ProcessSpec {
  std::vector<std::string> argv;  // argv[0] is looked up in env's PATH when it has no slash
  std::vector<std::string> env;   // NAME=VALUE, the whole environment
  std::string directory;          // "" = inherit
  int umask = -1;                 // -1 = inherit
  // The runner's own tools that look at other processes: no PID namespace of their own under any layer.
  bool host_pids = false;
  std::string log_path;  // combined log (process/capture.h); "" = no log on disk
  bool events = false;   // give the child PROCTOR_EVENTS_FD
  // Locks that the whole tree of the case holds, so that they end with its last process
  // and never earlier. At most 32.
  std::vector<int> leases{};
  bool inherit_stdio = false;  // --no-capture, --debugger: fds 0-2 are the runner's own
  // `exec`: stdout and stderr also go to the runner's own as they come, and stdin is the runner's unless that
  // is a terminal (process/pass_through.h).
  bool pass_through = false;
  // What is passed on goes to a log whose reader obeys commands in it (core/workflow_commands.h).
  bool break_commands = false;
  bool keep_stdout = false;  // also keep all of stdout in memory, up to max_kept_stdout (discovery, probes)
  std::size_t max_kept_stdout = 16 * 1024 * 1024;

  std::optional<Milliseconds> timeout;
  std::optional<Milliseconds> stall;  // no byte on stdout, stderr or the events fd for so long
  Milliseconds grace{10'000};
  Milliseconds drain{200};
  Milliseconds reap{30'000};

  // Each complete line that the child wrote to its events fd, in order, without the newline. A line over 64
  // KiB is delivered cut, and counted in ProcessEnd::events_too_long.
  std::function<void(std::string_view)> on_event_line;
  // What the child writes to stdout and stderr, as it comes. May be empty; must not destroy the process.
  std::function<void(Stream, std::string_view)> on_output = nullptr;
  // Evidence hook: called before the first signal of a timeout or a stall. The tree hangs below `guard_pid`;
  // the ladder goes on when `done` is called, which may be never. May be empty.
  std::function<void(int guard_pid, std::function<void()> done)> on_limit;
  Milliseconds limit_hook{5'500};  // longest wait for `done`; a little more than evidence may take
};

enum class EndCause { kExited, kTimeout, kStall, kStopped, kSpawnFailed, kGuardLost };

struct ProcessEnd {
  EndCause cause = EndCause::kExited;
  std::optional<SpawnError> spawn_error;
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  Termination termination;
  OutputInfo output;
  HostUsage usage;
  std::string kept_stdout;
  bool kept_stdout_truncated = false;
  std::uint64_t events_too_long = 0;
  std::size_t broken_commands = 0;  // in what was passed on
  std::string pass_through_lost;    // why output did not arrive at the runner's own stdout or stderr
  Clock::time_point started;
  Clock::time_point leader_ended;
  Clock::time_point ended;
  Milliseconds kill_to_empty{0};  // from SIGKILL to the proof that nothing is left
};

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

  // The clock of the next case in the same process: `timeout` counts from now, `stall` from the last output.
  virtual void restart_clock(const ProcessLimits& limits) = 0;

  // The leader's pid as the runner sees it, 0 before it runs. For evidence only.
  virtual int leader_pid() const = 0;
};

// Runs one command to its end on a private loop: discovery and probes. `spec.timeout` is required.
ProcessEnd run_contained(Containment& containment, ProcessSpec spec);

}  // namespace proctor
