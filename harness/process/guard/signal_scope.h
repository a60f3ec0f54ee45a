// Prevents a case from signalling, tracing or limiting other processes. The leader calls this between fork
// and exec, and all processes of the case inherit it.
//
//   landlock   Landlock's signal scope (Linux 6.12, ABI 6; landlock(7)): kill, tgkill, rt_sigqueueinfo,
//              pidfd_send_signal, ptrace and kill(-1) reach only the case's own processes, also as root.
//   filter     A seccomp filter. It refuses -1, the runner, the guard and their groups to kill, tkill, tgkill,
//              rt_sigqueueinfo and rt_tgsigqueueinfo, and to the calls that change limits, priorities and processors
//              of a process: for these, the user id is enough. This stops accidents; pidfds and ptrace pass.
//              Landlock covers only signals and ptrace, so the filter is installed in addition.
//
// Both need CAP_SYS_ADMIN in the caller's user namespace, or no_new_privs.
#pragma once

#include <sys/types.h>

namespace proctor::guard {

// The mechanism that confines the signals of a case.
enum class SignalScope { kNone, kLandlock, kFilter };

inline constexpr int kMostThreads = 16;

// The processes that a case must not signal or limit. All members are 0 in a PID namespace: the case cannot
// address the runner there, so no filter is installed.
struct Protected {
  pid_t runner = 0;
  pid_t runner_group = 0;
  pid_t guard = 0;
  pid_t guard_group = 0;
  pid_t threads[kMostThreads] =
      {};  // thread ids of the runner, which also name the process; unused ones are 0
};

// Returns false with errno on failure. `keep_privileges`: set-uid programs must work, so without
// CAP_SYS_ADMIN nothing is confined.
bool confine_signals(SignalScope scope, const Protected& who, bool keep_privileges);

}  // namespace proctor::guard
