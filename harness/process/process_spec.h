// The input of ContainedProcess (a command and its limits), and its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/journal/events.h"
#include "harness/process/host_usage.h"

namespace proctor {

enum class Stream { kOut, kErr };

// The events descriptor as a file, for programs that only write to a path.
inline constexpr const char* kEventsFile = "/proc/self/fd/3";

// The processes that a command can see and signal.
enum class Reach {
  kCase,      // the processes that the layer and the signal scope allow
  kHostPids,  // no PID and no user namespace in any layer; set-uid programs work as outside
  kMachine,   // like kHostPids, without a signal scope: for the runner's tools, which inspect other processes
};

// Time limits of a command. An unset limit does not apply.
struct ProcessLimits {
  std::optional<Milliseconds> timeout;
  std::optional<Milliseconds> stall;  // longest time without output or an event
  Milliseconds grace{10'000};         // from the first signal to SIGKILL
  bool fair = false;                  // for the runner's own parts: waits for a CPU do not count
};

// A command with its limits and callbacks, as the caller of ContainedProcess sets them.
struct ProcessSpec {
  // The command.
  std::vector<std::string> argv;  // argv[0] without a slash is searched in env's PATH
  std::vector<std::string> env;   // NAME=VALUE, the whole environment
  std::string directory;          // "": the runner's own
  int umask = -1;                 // -1: the runner's own
  // Raises the soft limit for a core file (RLIMIT_CORE) to this size, or to the hard limit if that is lower.
  std::uint64_t core_limit = 0;
  Reach reach = Reach::kCase;
  // Locks that every process of the command inherits: they end with the last process. At most 32 are
  // possible.
  std::vector<int> leases{};
  // Descriptors of the runner that the command gets under the same numbers (`exec`). The runner closes its
  // copies when the command has started, so that the command alone determines their end. At most 64 are
  // possible, and none with `events`.
  std::vector<int> inherited{};

  // Its time limits.
  ProcessLimits limits;
  Milliseconds drain{200};          // from the leader's exit to SIGKILL of leaked processes
  Milliseconds reap{30'000};        // from SIGKILL until the processes count as unkillable
  Milliseconds limit_hook{75'000};  // limit of `on_limit`; a little more than the most that evidence takes

  // Its output.
  std::string log_path;  // both streams in one log (process/capture.h); "": no log on disk
  // Files in which the command stores captured output that it has not printed. After its end, their content
  // is added to the output, and the files are removed.
  std::vector<std::pair<Stream, std::string>> captured_in{};
  bool inherit_stdio = false;  // --no-capture, --debugger: descriptors 0 to 2 are the runner's own
  // `exec`: stdout and stderr are also copied to those of the runner. Stdin is the runner's, unless that is a
  // terminal (process/case_output.h).
  bool pass_through = false;
  // The output goes to a log in which the CI system executes commands, so commands in the output are made
  // ineffective (base/workflow_commands.h).
  bool break_commands = false;
  bool keep_stdout = false;  // stdout is also kept in memory, up to max_kept_stdout
  std::size_t max_kept_stdout = 16 * 1024 * 1024;
  // Called with each piece of stdout and stderr. May be empty. Must not destroy the process.
  std::function<void(Stream, std::string_view)> on_output = nullptr;

  bool events = false;  // the command gets PROCTOR_EVENTS_FD, which it can also open as kEventsFile
  // Called with each complete line of events, in order, without the newline. A line over 64 KiB is truncated,
  // and counted in ProcessEnd::events_too_long.
  std::function<void(std::string_view)> on_event_line;

  // Called when the leader has the terminal and was stopped by Ctrl-Z. May be empty.
  std::function<void()> on_stopped = nullptr;

  // Called between a timeout or a stall and the first signal, to inspect the process tree of `guard_pid`. The
  // first signal is sent when `done` is called, or after `limit_hook`. May be empty.
  std::function<void(int guard_pid, std::function<void()> done)> on_limit;
};

// The failed step of starting a child. Exit code 127 is always that of the child itself.
struct SpawnError {
  std::string step;  // "exec", "chdir", "clone", ...
  int err = 0;       // errno
};

// Why a command ended.
enum class EndCause { kExited, kTimeout, kStall, kStopped, kSpawnFailed, kGuardLost };

// The result of a command: its end, its output and its use of the machine.
struct ProcessEnd {
  EndCause cause = EndCause::kExited;
  std::optional<SpawnError> spawn_error;
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  int leader = 0;  // its pid in its own PID namespace, or outside if it has none
  // In the environment of all its processes (journal/child_protocol.h, kContainmentVariable).
  std::string containment_id{};
  // another process killed or froze the cgroup; termination.guard_lost has the details
  bool cgroup_lost = false;
  // the kernel reports that it wrote the leader's core, or passed the core to a program
  bool core_dumped = false;
  Termination termination;
  OutputInfo output;
  HostUsage usage;
  std::string kept_stdout;
  bool kept_stdout_truncated = false;
  std::uint64_t events_too_long = 0;
  std::size_t broken_commands = 0;  // ineffective commands in the output that was passed through
  std::string
      pass_through_lost;  // why output did not reach the runner's stdout or stderr; "": none is missing
  Clock::time_point started;
  Clock::time_point leader_ended;
  Clock::time_point ended;
  Starvation at_limit{};          // set if a limit was reached
  Milliseconds guard_late{0};     // time of the guard's slowest response, if it was long
  Milliseconds kill_to_empty{0};  // from SIGKILL to the proof that no process is left
};

}  // namespace proctor
