#include "harness/process/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <string>
#include <variant>

#include "harness/base/argv.h"
#include "harness/base/read_file.h"
#include "harness/process/guard/protocol.h"

// The child runs on the parent's memory while the parent sleeps, so the sanitizers' shadow does not match the
// child's stack.
#define PROCTOR_NO_SANITIZE __attribute__((no_sanitize("address", "thread", "undefined")))

namespace proctor {
namespace {

constexpr double kGoldenRatio = 0.6180339887498949;
constexpr std::uint64_t kFewestPids = 301;  // the kernel's least pid_max

}  // namespace

CasePids::CasePids(std::uint64_t pid_max) {
  if (pid_max < kFewestPids) return;
  range_ = pid_max;
  factor_ = static_cast<std::uint64_t>(kGoldenRatio * static_cast<double>(pid_max));
  while (std::gcd(factor_, range_) != 1) ++factor_;  // so that each guard has a unique pid
}

CasePids case_pids_here() {
  const std::string text = read_file_or_empty("/proc/sys/kernel/pid_max");
  std::uint64_t pid_max = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid_max);
  return CasePids(pid_max);
}

namespace {

constexpr std::size_t kStackBytes = 16 * 1024;
constexpr long kMountSetattr = 442;  // Linux 5.12; the same number on every processor
constexpr int kMaxFds = guard::kFirstLeaseFd + guard::kMaxLeases + guard::kMaxInherited;
constexpr int kLeastScratchFd = 64;

struct ChildPlan {
  char* const* argv;
  char* const* envp;
  const char* directory;
  int umask;
  std::uint64_t core_limit;
  const int* fds;
  int fd_count;
  bool fresh_proc;
  char* const* read_only;  // its last element is null
  const char* writable;
  const CasePids* pids;
  // Written by the child.
  bool chose_pid;
  const char* failed_step;
  int failed_errno;
};

// The struct mount_attr of <linux/mount.h>. Older distributions do not have it.
struct MountAttributes {
  std::uint64_t set;
  std::uint64_t clear;
  std::uint64_t propagation;
  std::uint64_t user_namespace;
};
constexpr std::uint64_t kReadOnly = 1;

// Makes mounts read-only. First the directory that stays writable is mounted over itself.
PROCTOR_NO_SANITIZE bool hold_mounts(const ChildPlan& plan) {
  if (syscall(SYS_mount, plan.writable, plan.writable, nullptr, MS_BIND, nullptr) != 0) return false;
  const MountAttributes attributes{kReadOnly, 0, 0, 0};
  for (char* const* path = plan.read_only; *path != nullptr; ++path) {
    if (syscall(kMountSetattr, AT_FDCWD, *path, 0, &attributes, sizeof(attributes)) == 0) continue;
    if (errno != EACCES && errno != ENOENT) return false;  // a mount that cannot be reached needs no change
  }
  return true;
}

PROCTOR_NO_SANITIZE bool make_mounts(const ChildPlan& plan, const char*& step) {
  const bool holds = *plan.read_only != nullptr;
  step = "mount(slave)";
  if ((plan.fresh_proc || holds) && syscall(SYS_mount, "none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return false;
  step = "mount(proc)";
  if (plan.fresh_proc &&
      syscall(SYS_mount, "proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return false;
  step = kReadOnlyStep;
  return !holds || hold_mounts(plan);
}

// Returns the pid of this process in the runner's namespace. The kernel shows it, because /proc is still the
// runner's mount.
PROCTOR_NO_SANITIZE std::uint64_t pid_outside() {
  char text[24];
  const long size = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self", text, sizeof(text));
  std::uint64_t pid = 0;
  for (long i = 0; i < size; ++i) {
    if (text[i] < '0' || text[i] > '9') return 0;
    pid = pid * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  return pid;
}

// Sets the last pid of this PID namespace, so that the kernel gives the next process the following number.
// The owner of the namespace may do this before the exec drops the capabilities.
PROCTOR_NO_SANITIZE bool choose_next_pid(std::uint64_t pid) {
  if (pid == 0) return false;
  char text[24];
  char* begin = text + sizeof(text);
  for (std::uint64_t rest = pid - 1; rest > 0 || begin == text + sizeof(text); rest /= 10)
    *--begin = static_cast<char>('0' + rest % 10);
  const long file = syscall(SYS_openat, AT_FDCWD, "/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const long size = text + sizeof(text) - begin;
  const bool written = syscall(SYS_write, file, begin, size) == size;
  syscall(SYS_close, file);
  return written;
}

// Resets ignored signals. An ignored signal stays ignored over exec, so a test would never see its own
// SIGPIPE, SIGALRM or SIGCHLD.
PROCTOR_NO_SANITIZE void default_dispositions() {
  struct KernelSigaction {
    void* handler;
    unsigned long flags;
    void* restorer;
    unsigned long mask;
  };
  KernelSigaction action;
  action.handler = nullptr;  // SIG_DFL
  action.flags = 0;
  action.restorer = nullptr;
  action.mask = 0;
  for (int signal = 1; signal < _NSIG; ++signal) {
    syscall(SYS_rt_sigaction, signal, &action, nullptr, sizeof(unsigned long));
  }
}

PROCTOR_NO_SANITIZE bool duplicate_descriptors(const ChildPlan& plan, const char*& step) {
  int moved[kMaxFds];
  // This number is above every final number, so a move down never overwrites a source.
  const int scratch = plan.fd_count > kLeastScratchFd ? plan.fd_count : kLeastScratchFd;
  step = "dup";
  for (int i = 0; i < plan.fd_count; ++i) {
    moved[i] = plan.fds[i];
    if (plan.fds[i] < 0) continue;
    moved[i] = static_cast<int>(syscall(SYS_fcntl, plan.fds[i], F_DUPFD_CLOEXEC, scratch));
    if (moved[i] < 0) return false;
  }
  step = "dup3";
  for (int i = 0; i < plan.fd_count; ++i) {
    if (moved[i] < 0) {
      syscall(SYS_close, i);
    } else if (syscall(SYS_dup3, moved[i], i, 0) < 0) {
      return false;
    }
  }
  // Kernels before 5.9 refuse this. The runner's descriptors are close-on-exec anyway.
  syscall(SYS_close_range, plan.fd_count, ~0U, 0);
  return true;
}

// Raises the limit for core files, because the kernel writes none on most machines otherwise. A lower limit
// is not an error.
PROCTOR_NO_SANITIZE void raise_core_limit(std::uint64_t wanted) {
  rlimit limit{};
  static_assert(sizeof(limit.rlim_cur) == sizeof(wanted), "the kernel's limits have 64 bits");
  if (syscall(SYS_prlimit64, 0, RLIMIT_CORE, nullptr, &limit) != 0) return;
  const std::uint64_t allowed = wanted < limit.rlim_max ? wanted : limit.rlim_max;
  if (limit.rlim_cur >= allowed) return;
  limit.rlim_cur = allowed;
  syscall(SYS_prlimit64, 0, RLIMIT_CORE, &limit, nullptr);
}

PROCTOR_NO_SANITIZE int child_main(void* raw) {
  auto* plan = static_cast<ChildPlan*>(raw);
  const char* step = "";
  const bool ready = [&]() PROCTOR_NO_SANITIZE {
    const std::uint64_t pid = plan->pids->of(pid_outside());
    if (!make_mounts(*plan, step)) return false;
    plan->chose_pid = choose_next_pid(pid);
    default_dispositions();
    if (!duplicate_descriptors(*plan, step)) return false;
    if (plan->umask >= 0) syscall(SYS_umask, plan->umask);
    raise_core_limit(plan->core_limit);
    step = "chdir";
    if (plan->directory[0] != '\0' && syscall(SYS_chdir, plan->directory) != 0) return false;
    step = "exec";
    syscall(SYS_execve, plan->argv[0], plan->argv, plan->envp);
    return false;
  }();
  (void)ready;
  plan->failed_errno = errno;
  plan->failed_step = step;
  syscall(SYS_exit_group, 127);
  return 127;
}

// Blocks all signals over the clone: a handler must not run in the child on the parent's memory. The guard
// inherits the full mask and gives the leader an empty one.
class BlockAllSignals {
 public:
  BlockAllSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved_);
  }
  ~BlockAllSignals() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }
  BlockAllSignals(const BlockAllSignals&) = delete;
  BlockAllSignals& operator=(const BlockAllSignals&) = delete;

 private:
  sigset_t saved_{};
};

int clone_flags(const SpawnSpec& spec) {
  int flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
  if (spec.pid_namespace) flags |= CLONE_NEWPID;
  if (spec.user_namespace) flags |= CLONE_NEWUSER;
  if (spec.fresh_proc || !spec.read_only.empty()) flags |= CLONE_NEWNS;
  return flags;
}

bool write_file(const std::string& path, const std::string& text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// The kernel ends a vfork before the exec is complete: it makes the new memory of the process dumpable a
// little later (begin_new_exec() in fs/exec.c). Until then the files of the process belong to root.
constexpr std::chrono::seconds kEndOfExec{1};

bool write_after_exec(const std::string& path, const std::string& text) {
  const auto give_up = std::chrono::steady_clock::now() + kEndOfExec;
  while (!write_file(path, text)) {
    if (errno != EACCES || std::chrono::steady_clock::now() >= give_up) return false;
    sched_yield();
  }
  return true;
}

std::string map_to_itself(unsigned id) { return std::to_string(id) + " " + std::to_string(id) + " 1"; }

// Returns true if a word contains a NUL. It would end the word early, and another command would be executed.
bool holds_nul(const SpawnSpec& spec) {
  const auto has_one = [](const std::string& word) { return word.find('\0') != std::string::npos; };
  return std::ranges::any_of(spec.argv, has_one) || std::ranges::any_of(spec.env, has_one) ||
         has_one(spec.directory);
}

void reap_failed(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::variant<Spawned, SpawnError> spawn(const SpawnSpec& spec) {
  if (holds_nul(spec)) return SpawnError{"exec", EINVAL};
  // The child uses this stack while this function sleeps: its pages exist, and no mapping is needed.
  alignas(16) std::array<std::byte, kStackBytes> stack;
  std::byte* const stack_top = stack.data() + stack.size();
  const std::vector<char*> argv = argv_of(spec.argv);
  const std::vector<char*> envp = argv_of(spec.env);
  ChildPlan plan{};
  plan.argv = argv.data();
  plan.envp = envp.data();
  plan.directory = spec.directory.c_str();
  plan.umask = spec.umask;
  plan.core_limit = spec.core_limit;
  plan.fds = spec.fds.data();
  plan.fd_count = static_cast<int>(spec.fds.size());
  plan.fresh_proc = spec.fresh_proc;
  const std::vector<char*> read_only = argv_of(spec.read_only);
  plan.read_only = read_only.data();
  plan.writable = spec.writable.c_str();
  plan.pids = &spec.pids;

  Spawned spawned;
  int pidfd = -1;
  int clone_errno = 0;
  {
    const BlockAllSignals blocked;
    const int flags = clone_flags(spec);
    spawned.pid = -1;
    if (spec.use_pidfd) spawned.pid = clone(child_main, stack_top, flags | CLONE_PIDFD, &plan, &pidfd);
    if (spawned.pid < 0) spawned.pid = clone(child_main, stack_top, flags, &plan);
    clone_errno = errno;
  }
  if (spawned.pid < 0) return SpawnError{"clone", clone_errno};
  spawned.pidfd = UniqueFd(pidfd);
  if (plan.failed_step != nullptr) {
    reap_failed(spawned.pid);
    return SpawnError{plan.failed_step, plan.failed_errno};
  }
  spawned.chose_pid = plan.chose_pid;
  return spawned;
}

std::optional<SpawnError> write_id_maps(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  if (!write_after_exec(process + "/uid_map", map_to_itself(geteuid()))) return SpawnError{"uid_map", errno};
  // If this is missing, the kernel refuses the gid map to an unprivileged writer (user_namespaces(7)). The file
  // does not exist before 3.19.
  if (!write_file(process + "/setgroups", "deny") && errno != ENOENT) return SpawnError{"setgroups", errno};
  if (!write_file(process + "/gid_map", map_to_itself(getegid()))) return SpawnError{"gid_map", errno};
  return std::nullopt;
}

}  // namespace proctor
