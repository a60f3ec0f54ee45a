// The protocol between runner and guard, over one SOCK_SEQPACKET pair. End-of-file from the runner means that
// the runner is gone: the guard then kills all processes of the case.
//
// The guard reports each command back. If it does not, it is stopped, traced or dead, and the runner kills
// the case and the guard.
#pragma once

#include <stdint.h>

namespace proctor::guard {

// Descriptors of the guard at its start; 0-2 are the case's own. Unused ones are closed.
inline constexpr int kControlFd = 3;
inline constexpr int kCgroupFd = 4;  // directory of the case's leaf
inline constexpr int kEventsFd = 5;  // write end of the events pipe
// Locks that are held as long as a process of the case lives. The guard keeps these descriptors open. The
// leader and its child processes have other open file descriptions of the same files under the same numbers,
// each with a shared lock on one byte.
inline constexpr int kFirstLeaseFd = 6;
inline constexpr int kSharedLeaseByte = 1;
inline constexpr int kMaxLeases = 32;
// The descriptors that the command inherits from the caller of `exec` follow the leases. The leader has them
// under the numbers in FLAGS. The leases of that leader have other numbers.
inline constexpr int kMaxInherited = 64;

// The number under which the case sees its events pipe.
inline constexpr int kChildEventsFd = 3;

// argv of the guard: proctor-guard FLAGS MARK LEAF_PATH COMMAND ARGS... FLAGS is a string of letters,
// followed by `:` and the number of each inherited descriptor. MARK is the containment id, for readers that
// cannot read the guard's environment (journal/child_protocol.h, kContainmentVariable). LEAF_PATH is "-"
// outside the cgroup layer.
inline constexpr int kFlagsArgument = 1;
inline constexpr int kMarkArgument = 2;
inline constexpr int kLeafArgument = 3;
inline constexpr int kCommandArgument = 4;
inline constexpr char kFlagCgroup = 'c';    // the leader starts inside kCgroupFd
inline constexpr char kFlagInit = 'n';      // the guard is PID 1 of its own namespace
inline constexpr char kFlagTerminal = 't';  // the leader becomes the terminal's foreground group
inline constexpr char kFlagEvents = 'e';    // kEventsFd is open
inline constexpr char kFlagLease = 'l';     // once per lease
inline constexpr char kFlagInherited = ':';
// Processes of the guard's user may trace it. Otherwise /proc hides the guard from the runner.
inline constexpr char kFlagDumpable = 'd';
// The signal scope of the case (signal_scope.h): one of these flags, or none.
inline constexpr char kFlagLandlock = 's';
inline constexpr char kFlagFilter = 'f';
inline constexpr char kFlagKeepPrivileges = 'p';  // set-uid programs of the case must work
inline constexpr char kFlagAwaitMaps = 'm';  // the runner writes the id maps, and then sends kMapsWritten

// The commands of the runner.
enum class CommandType : int32_t {
  kSignal = 1,       // value: signal number, sent to every process of the case
  kKill = 2,         // SIGKILL to all processes, until none is left; then the guard exits
  kMapsWritten = 3,  // the first command, with kFlagAwaitMaps; it has no report
  kFreeze = 4,       // value: 1 stops every process of the case, 0 continues them
};

// A message from the runner to the guard.
struct Command {
  CommandType type;
  int32_t value;
};

// The step of kSpawnFailed if the signal scope is refused.
inline constexpr const char* kSignalScopeStep = "signal scope";

// The reports of the guard.
enum class ReportType : int32_t {
  kSpawnFailed = 1,    // value: errno; step names the call
  kLeaderExited = 2,   // value: wait status as waitpid gives it
  kObeyed = 3,         // the response to a command; to kKill, after the first round of SIGKILL
  kLeaderStopped = 4,  // only with kFlagTerminal: by Ctrl-Z, which only its group received
  kLeaderStarted = 5,  // only with inherited descriptors: the guard has closed its copies
};

// A message from the guard to the runner.
struct Report {
  ReportType type;
  int32_t value;
  char step[24];
  int32_t leader;  // for kLeaderExited: its pid as seen by itself
  // For kLeaderExited: total of the leader and of the children that it waited for.
  int64_t cpu_us;
  int64_t peak_rss_kib;  // of the largest of these processes
};

// Exit code 0 guarantees that no process of the case is left, because the guard has no more children. If it
// was PID 1, the kernel has killed the remaining processes. 70: wrong arguments. After any other end, for
// example by a signal, the runner searches for processes itself.

}  // namespace proctor::guard
