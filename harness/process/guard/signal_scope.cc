#include "harness/process/guard/signal_scope.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace proctor::guard {
namespace {

// From <linux/landlock.h>. Older distributions have it without the last member.
struct RulesetAttributes {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};
constexpr uint64_t kScopeSignal = 1U << 1;
// the same number on all architectures, as for every system call since 5.0
constexpr long kCreateRuleset = 444;
constexpr long kRestrictSelf = 446;
constexpr uint32_t kDiskPriorityOfUser = 3;  // IOPRIO_WHO_USER, which the headers of the C library lack

#if defined(__x86_64__)
constexpr uint32_t kProcessor = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kProcessor = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kProcessor = 0;  // no call matches
#endif

// Calls again with no_new_privs if the kernel refuses with EPERM (Landlock) or EACCES (seccomp).
template <typename Call>
bool with_rights(Call call, bool keep_privileges) {
  if (call()) return true;
  if (errno != EPERM && errno != EACCES) return false;
  if (keep_privileges) return true;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && call();
}

bool use_landlock(bool keep_privileges) {
  const RulesetAttributes attributes{0, 0, kScopeSignal};
  const int ruleset = static_cast<int>(syscall(kCreateRuleset, &attributes, sizeof(attributes), 0));
  if (ruleset < 0) return false;
  const bool done =
      with_rights([ruleset] { return syscall(kRestrictSelf, ruleset, 0) == 0; }, keep_privileges);
  const int saved = errno;
  close(ruleset);
  errno = saved;
  return done;
}

// The value as a system call gets it. 0 would mean the caller or its group, so it becomes -1.
constexpr uint32_t target(pid_t pid) { return static_cast<uint32_t>(pid == 0 ? -1 : pid); }

// The forbidden values of an argument.
struct Values {
  uint32_t of[kMostThreads + 5] = {};
  size_t size = 0;
  void add(uint32_t value) { of[size++] = value; }
};

// A program of the kernel's filter (seccomp(2)). The length of a jump counts instructions after the next one.
class FilterProgram {
 public:
  FilterProgram() {
    load(offsetof(seccomp_data, arch));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kProcessor, 1, 0));
    end(SECCOMP_RET_ALLOW);
  }
  // Refuses each of `calls` whose argument `index` is one of `values`.
  template <size_t kCalls>
  void refuse(const uint32_t (&calls)[kCalls], size_t index, const Values& values) {
    load(offsetof(seccomp_data, nr));
    for (size_t i = 0; i < kCalls; ++i)
      add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], static_cast<uint8_t>(kCalls - i), 0));
    add(BPF_STMT(BPF_JMP | BPF_JA, static_cast<uint32_t>(values.size + 3)));
    load(offsetof(seccomp_data, args) + index * sizeof(seccomp_data::args[0]));
    for (size_t i = 0; i < values.size; ++i)
      add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, values.of[i], static_cast<uint8_t>(values.size - i), 0));
    add(BPF_STMT(BPF_JMP | BPF_JA, 1));
    end(SECCOMP_RET_ERRNO | EPERM);
  }
  bool install() {
    end(SECCOMP_RET_ALLOW);
    const sock_fprog program{static_cast<unsigned short>(size_), code_};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
  }

 private:
  void load(size_t offset) { add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset))); }
  void end(uint32_t action) { add(BPF_STMT(BPF_RET | BPF_K, action)); }
  void add(sock_filter instruction) { code_[size_++] = instruction; }
  sock_filter code_[128] = {};
  size_t size_ = 0;
};

bool use_filter(const Protected& who, bool keep_privileges) {
  if (who.guard == 0) return true;
  Values processes;
  processes.add(target(who.runner));
  processes.add(target(who.guard));
  for (const pid_t thread : who.threads) {
    if (thread != 0 && thread != who.runner) processes.add(target(thread));
  }
  Values signalled = processes;
  signalled.add(target(-1));
  signalled.add(target(-who.runner_group));
  signalled.add(target(-who.guard_group));
  Values ranked = processes;
  ranked.add(target(who.runner_group));
  ranked.add(target(who.guard_group));
  Values priority_of_user;
  priority_of_user.add(PRIO_USER);
  Values disk_priority_of_user;
  disk_priority_of_user.add(kDiskPriorityOfUser);

  FilterProgram program;
  program.refuse({SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_prlimit64,
                  SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr},
                 0, signalled);
  program.refuse({SYS_setpriority, SYS_ioprio_set}, 1, ranked);
  program.refuse({SYS_setpriority}, 0, priority_of_user);
  program.refuse({SYS_ioprio_set}, 0, disk_priority_of_user);
  return with_rights([&program] { return program.install(); }, keep_privileges);
}

}  // namespace

bool confine_signals(SignalScope scope, const Protected& who, bool keep_privileges) {
  if (scope == SignalScope::kNone) return true;
  if (scope == SignalScope::kLandlock && !use_landlock(keep_privileges)) return false;
  return use_filter(who, keep_privileges);
}

}  // namespace proctor::guard
