#include "harness/process/guard/signal_scope.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace proctor::guard {
namespace {

// Of <linux/landlock.h>, which older distributions have without the last member.
struct RulesetAttributes {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};
constexpr uint64_t kScopeSignal = 1U << 1;
constexpr long kCreateRuleset = 444;  // the same number on every processor, as all since 5.0
constexpr long kRestrictSelf = 446;

#if defined(__x86_64__)
constexpr uint32_t kProcessor = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kProcessor = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kProcessor = 0;  // no call matches
#endif

// The kernel refuses what needs it with EPERM (Landlock) or EACCES (seccomp).
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

// A program of the kernel's filter (seccomp(2)): jumps count instructions from the next one.
class FilterProgram {
 public:
  void load(size_t offset) { add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset))); }
  void end(uint32_t action) { add(BPF_STMT(BPF_RET | BPF_K, action)); }
  // Goes on behind the next `end` where what was loaded is one of `values`, and otherwise into it.
  template <size_t kCount>
  void unless_one_of(const uint32_t (&values)[kCount], uint32_t otherwise) {
    for (size_t i = 0; i < kCount; ++i)
      add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, values[i], static_cast<uint8_t>(kCount - i), 0));
    end(otherwise);
  }
  bool install() const {
    const sock_fprog program{static_cast<unsigned short>(size_), const_cast<sock_filter*>(code_)};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
  }

 private:
  void add(sock_filter instruction) { code_[size_++] = instruction; }
  sock_filter code_[32] = {};
  size_t size_ = 0;
};

// As kill() takes it; 0 would be the caller's own group, and stands for nobody here.
constexpr uint32_t target(pid_t pid) { return static_cast<uint32_t>(pid == 0 ? -1 : pid); }

bool use_filter(const Protected& who, bool keep_privileges) {
  if (who.guard == 0) return true;
  FilterProgram program;
  program.load(offsetof(seccomp_data, arch));
  program.unless_one_of({kProcessor}, SECCOMP_RET_ALLOW);
  program.load(offsetof(seccomp_data, nr));
  program.unless_one_of({SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo},
                        SECCOMP_RET_ALLOW);
  program.load(offsetof(seccomp_data, args[0]));
  program.unless_one_of({target(-1), target(who.runner), target(who.guard), target(-who.runner_group),
                         target(-who.guard_group)},
                        SECCOMP_RET_ALLOW);
  program.end(SECCOMP_RET_ERRNO | EPERM);
  return with_rights([&program] { return program.install(); }, keep_privileges);
}

}  // namespace

bool confine_signals(SignalScope scope, const Protected& who, bool keep_privileges) {
  if (scope == SignalScope::kLandlock) return use_landlock(keep_privileges);
  if (scope == SignalScope::kFilter) return use_filter(who, keep_privileges);
  return true;
}

}  // namespace proctor::guard
