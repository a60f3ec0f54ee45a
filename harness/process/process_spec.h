// What ContainedProcess is told about a command, and what it tells at the command's end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/clock.h"
#include "harness/core/duration.h"
#include "harness/core/events.h"
#include "harness/process/host_usage.h"
#include "harness/process/pressure.h"

namespace proctor {

enum class Stream { kOut, kErr };

// The events descriptor as a file, for programs that only write to a path.
inline constexpr const char* kEventsFile = "/proc/self/fd/3";

// What the processes of a command see and signal.
enum class Reach {
  kCase,      // no more than the layer and the signal scope allow
  kHostPids,  // no PID and no user namespace under any layer, and set-uid programs gain what they gain outside
  kMachine,  // as kHostPids, without a signal scope: for the runner's own tools, which look at other processes
};

// How long a command may take. A limit that is not set is never reached.
struct ProcessLimits {
  std::optional<Milliseconds> timeout;
  std::optional<Milliseconds> stall;  // no byte on stdout, stderr or the events fd for so long
  Milliseconds grace{10'000};         // from the first signal to SIGKILL
  bool fair = false;  // for the runner's own parts: the timeout counts the time in which they could run
};

struct ProcessSpec {
  // What is executed, and where.
  std::vector<std::string> argv;  // argv[0] is looked up in env's PATH when it has no slash
  std::vector<std::string> env;   // NAME=VALUE, the whole environment
  std::string directory;          // "": the runner's own
  int umask = -1;                 // -1: the runner's own
  Reach reach = Reach::kCase;
  // Locks that the whole tree of the command holds: they end with its last process and never earlier.
  // At most 32.
  std::vector<int> leases{};

  // How long it may take.
  ProcessLimits limits;
  Milliseconds drain{200};         // from the leader's exit to SIGKILL for what is left
  Milliseconds reap{30'000};       // from SIGKILL until the processes count as unreapable
  Milliseconds limit_hook{5'500};  // how long `on_limit` may take; a little more than evidence may

  // What is done with its output.
  std::string log_path;  // both streams in one log (process/capture.h); "": no log on disk
  // Files in which the command keeps what it captured of itself and has not printed. What they hold when it has ended
  // is output too; they are then removed.
  std::vector<std::pair<Stream, std::string>> captured_in{};
  bool inherit_stdio = false;  // --no-capture, --debugger: descriptors 0 to 2 are the runner's own
  // `exec`: stdout and stderr also go to the runner's own as they come, and stdin is the runner's unless that
  // is a terminal (process/pass_through.h).
  bool pass_through = false;
  // The output goes to a log whose reader obeys commands in it (core/workflow_commands.h), so commands in it
  // are broken.
  bool break_commands = false;
  bool keep_stdout = false;  // all of stdout is kept in memory too, up to max_kept_stdout
  std::size_t max_kept_stdout = 16 * 1024 * 1024;
  // Called with the bytes of stdout and stderr as they come. May be empty; must not destroy the process.
  std::function<void(Stream, std::string_view)> on_output = nullptr;

  bool events = false;  // the command gets PROCTOR_EVENTS_FD, which it can also open as kEventsFile
  // Called with each complete line that the command wrote there, in order, without the newline. A line over
  // 64 KiB is delivered truncated, and counted in ProcessEnd::events_too_long.
  std::function<void(std::string_view)> on_event_line;

  // Called when the leader, which has the terminal, was stopped there (Ctrl-Z). May be empty.
  std::function<void()> on_stopped = nullptr;

  // Called between a timeout or a stall and the first signal, so that somebody can look at the process tree
  // below `guard_pid`. The first signal comes when `done` is called, or after `limit_hook`. May be empty.
  std::function<void(int guard_pid, std::function<void()> done)> on_limit;
};

// Which step of starting a child failed; never confused with the child's own exit 127.
struct SpawnError {
  std::string step;  // "exec", "chdir", "clone", ...
  int err = 0;       // errno
};

enum class EndCause { kExited, kTimeout, kStall, kStopped, kSpawnFailed, kGuardLost };

struct ProcessEnd {
  EndCause cause = EndCause::kExited;
  std::optional<SpawnError> spawn_error;
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  int leader = 0;  // its pid as it saw itself, in a PID namespace of its own where it had one
  std::string
      containment_id{};  // in the environment of all its processes (core/child_protocol.h, kContainmentVariable)
  bool core_dumped = false;  // the kernel says that it wrote the leader's core, or that somebody took it
  Termination termination;
  OutputInfo output;
  HostUsage usage;
  std::string kept_stdout;
  bool kept_stdout_truncated = false;
  std::uint64_t events_too_long = 0;
  std::size_t broken_commands = 0;  // in the output that was passed on
  std::string
      pass_through_lost;  // why output did not arrive at the runner's own stdout or stderr; "": it did
  Clock::time_point started;
  Clock::time_point leader_ended;
  Clock::time_point ended;
  Starvation at_limit{};          // where a limit ended it
  Milliseconds guard_late{0};     // how long the guard took for its slowest answer, where that was long
  Milliseconds kill_to_empty{0};  // from SIGKILL to the proof that nothing is left
};

}  // namespace proctor
