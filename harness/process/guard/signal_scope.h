// Prevents a case from signalling, tracing or limiting other processes. Called in the leader, between fork and
// exec. All processes of the case inherit it.
//
//   landlock   Landlock's signal scope (Linux 6.12, ABI 6; landlock(7)): kill, tgkill, rt_sigqueueinfo,
//              pidfd_send_signal, ptrace and kill(-1) reach only the case's own processes, also as root.
//   filter     A seccomp filter. It refuses -1, the runner, the guard and their groups to kill, tkill, tgkill,
//              rt_sigqueueinfo and rt_tgsigqueueinfo, and to the calls that change limits, priorities and processors
//              of a process: for these, the user id is enough. This stops accidents; pidfds and ptrace pass.
//              With Landlock, which knows only signals and ptrace, the filter is installed too.
//
// Both need CAP_SYS_ADMIN in the caller's user namespace, or no_new_privs.
#pragma once

#include <sys/types.h>

namespace proctor::guard {

enum class SignalScope { kNone, kLandlock, kFilter };

inline constexpr int kMostThreads = 16;

// The processes that a case must not signal or limit. All are 0 in a PID namespace: the case cannot address the
// runner there, so no filter is installed.
struct Protected {
  pid_t runner = 0;
  pid_t runner_group = 0;
  pid_t guard = 0;
  pid_t guard_group = 0;
  pid_t threads[kMostThreads] = {};  // of the runner: such a number names their process. Unused ones are 0
};

// False with errno. `keep_privileges`: set-uid programs must work, so nothing is done without CAP_SYS_ADMIN.
bool confine_signals(SignalScope scope, const Protected& who, bool keep_privileges);

}  // namespace proctor::guard
