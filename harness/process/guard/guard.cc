// The guard: the parent of a case's leader under every containment layer. It adopts orphans (as a subreaper,
// or as PID 1 of a namespace), reaps them, and forwards signals. It kills all remaining processes when the
// runner orders this, or when the runner ends.
//
// The guard is a separate static program. It is short enough to be read at once, starts in a fraction of a
// millisecond, and shares no memory, lock or driver with the runner.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/process/guard/protocol.h"
#include "harness/process/guard/signal_scope.h"
#include "harness/process/guard/tree.h"

namespace {

using namespace proctor::guard;

constexpr int kPollRunnerMs = 1000;
// The pause between two rounds of killing. It doubles after some rounds, so that many guards leave the CPUs
// to the processes that end.
constexpr long kFirstPauseNs = 500'000;
constexpr long kLongestPauseNs = 50'000'000;
constexpr int kRoundsOfAPause = 8;
// A round of signals reaches at most this number of processes. The next round reaches other processes.
constexpr size_t kMostPids = 65'536;
// The search path if PATH is not set. The runner also searches it for a suite's program
// (runner/machine/installation.cc).
constexpr const char* kDefaultSearchPath = "/usr/bin:/bin";

struct Options {
  bool cgroup = false;
  bool init = false;
  bool terminal = false;
  bool events = false;
  bool dumpable = false;
  bool keep_privileges = false;
  bool await_maps = false;
  SignalScope signal_scope = SignalScope::kNone;
  Protected who{};
  int leases = 0;
  int inherited[kMaxInherited] = {};  // the leader's numbers
  int inherited_count = 0;
  char* leaf = nullptr;
  char** command = nullptr;
};

// Resources that the guard opens before the case starts: a test may lower the guard's limits of open files
// and memory to 0.
struct Means {
  pid_t* pids = nullptr;
  int own_children = -1;
  int cgroup_kill = -1;
  int cgroup_freeze = -1;
  int epoll = -1;
};

struct ExecFailure {
  int err;
  char step[24];
};

void report(ReportType type, int value, const char* step = "") {
  Report message{};
  message.type = type;
  message.value = value;
  strncpy(message.step, step, sizeof(message.step) - 1);
  // A refused message means that the runner has ended. The lifeline then reports end-of-file.
  (void)send(kControlFd, &message, sizeof(message), MSG_NOSIGNAL);
}

void report_leader(pid_t leader, int status, const rusage& used) {
  Report message{};
  message.type = ReportType::kLeaderExited;
  message.value = status;
  message.leader = leader;
  message.cpu_us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * int64_t{1'000'000} +
                   used.ru_utime.tv_usec + used.ru_stime.tv_usec;
  message.peak_rss_kib = used.ru_maxrss;
  (void)send(kControlFd, &message, sizeof(message), MSG_NOSIGNAL);
}

[[noreturn]] void fail_exec(int pipe_fd, const char* step, int err) {
  ExecFailure failure{};
  failure.err = err;
  strncpy(failure.step, step, sizeof(failure.step) - 1);
  (void)!write(pipe_fd, &failure, sizeof(failure));
  _exit(127);
}

// Returns only on failure, with errno. It searches PATH as execvp does. It does not call execvp, which runs a
// file without a valid header in /bin/sh: a broken binary would be reported as the shell's exit code 127.
void exec_command(char** command) {
  const char* name = command[0];
  if (*name == '\0' || strchr(name, '/') != nullptr) {
    execve(name, command, environ);
    return;
  }
  const char* search = getenv("PATH");
  if (search == nullptr) search = kDefaultSearchPath;
  int reason = ENOENT;
  for (;; ++search) {
    const int length = static_cast<int>(strchrnul(search, ':') - search);
    char path[PATH_MAX];
    const int wanted =
        snprintf(path, sizeof(path), "%.*s/%s", length == 0 ? 1 : length, length == 0 ? "." : search, name);
    errno = ENAMETOOLONG;  // a truncated path would be the path of another program
    if (wanted >= 0 && wanted < PATH_MAX) execve(path, command, environ);
    if (errno != ENOENT && errno != ENOTDIR) reason = errno;
    search += length;
    if (*search == '\0') break;
  }
  errno = reason;
}

// Gives the case its own open file descriptions of the leases. An unlock by the case releases only its share,
// and not the lock of this guard (harness/devices/leases/lease.h defines the two bytes). Only a regular file
// is a lock.
void share_leases(const Options& options, int pipe_fd) {
  for (int lease = kFirstLeaseFd; lease < kFirstLeaseFd + options.leases; ++lease) {
    struct stat info {};
    if (fstat(lease, &info) != 0 || !S_ISREG(info.st_mode)) continue;
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", lease);
    const int own = open(path, O_RDONLY | O_CLOEXEC);
    struct flock share {};
    share.l_type = F_RDLCK;
    share.l_whence = SEEK_SET;
    share.l_start = kSharedLeaseByte;
    share.l_len = 1;
    if (own < 0 || fcntl(own, F_OFD_SETLK, &share) != 0 || dup2(own, lease) < 0)
      fail_exec(pipe_fd, "lease", errno);
    close(own);
  }
}

// Gives the leader the inherited descriptors under their own numbers, and the leases under free numbers.
// Returns the new number of the pipe. First, all descriptors move above the highest number, so that no move
// overwrites a source.
int restore_inherited(const Options& options, int pipe_fd) {
  const int count = options.leases + options.inherited_count;
  int above = kFirstLeaseFd + kMaxLeases + kMaxInherited;
  for (int i = 0; i < options.inherited_count; ++i) {
    if (options.inherited[i] >= above) above = options.inherited[i] + 1;
  }
  const int moved_pipe = fcntl(pipe_fd, F_DUPFD_CLOEXEC, above);
  if (moved_pipe < 0) fail_exec(pipe_fd, "dup", errno);
  int moved[kMaxLeases + kMaxInherited];
  for (int i = 0; i < count; ++i) {
    moved[i] = fcntl(kFirstLeaseFd + i, F_DUPFD_CLOEXEC, above);
    if (moved[i] < 0) fail_exec(moved_pipe, "dup", errno);
  }
  syscall(SYS_close_range, kControlFd, above - 1, 0);
  for (int i = options.leases; i < count; ++i) {
    if (dup2(moved[i], options.inherited[i - options.leases]) < 0) fail_exec(moved_pipe, "dup2", errno);
  }
  for (int i = 0; i < options.leases; ++i) {
    if (fcntl(moved[i], F_DUPFD, kFirstLeaseFd) < 0) fail_exec(moved_pipe, "dup", errno);
  }
  return moved_pipe;
}

// Closes all descriptors of the leader except the standard ones, the events and the leases. Returns the new
// number of the pipe.
int keep_own_descriptors(const Options& options, int pipe_fd) {
  const int moved_pipe = fcntl(pipe_fd, F_DUPFD_CLOEXEC, kFirstLeaseFd + kMaxLeases);
  if (moved_pipe < 0) fail_exec(pipe_fd, "dup", errno);
  int first_unused = kChildEventsFd;
  if (options.events) {
    if (dup2(kEventsFd, kChildEventsFd) < 0) fail_exec(moved_pipe, "dup2", errno);
    first_unused = kChildEventsFd + 1;
  }
  syscall(SYS_close_range, first_unused, kFirstLeaseFd - 1, 0);
  syscall(SYS_close_range, kFirstLeaseFd + options.leases, moved_pipe - 1, 0);
  syscall(SYS_close_range, moved_pipe + 1, ~0U, 0);
  return moved_pipe;
}

// Runs in the leader between fork and exec. The order matters. The terminal requires the session. The signal
// scope must not forbid a later step. The signal mask comes last, so that no signal arrives during the setup.
[[noreturn]] void become_leader(const Options& options, int pipe_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test of the same user may kill the guard
  if (options.terminal) {
    setpgid(0, 0);
    tcsetpgrp(STDIN_FILENO, getpid());  // SIGTTOU is still blocked
  } else if (setsid() < 0) {
    fail_exec(pipe_fd, "setsid", errno);
  }
  share_leases(options, pipe_fd);
  const int moved_pipe = options.inherited_count > 0 ? restore_inherited(options, pipe_fd)
                                                     : keep_own_descriptors(options, pipe_fd);
  if (!confine_signals(options.signal_scope, options.who, options.keep_privileges))
    fail_exec(moved_pipe, kSignalScopeStep, errno);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  exec_command(options.command);
  fail_exec(moved_pipe, "exec", errno);
}

pid_t fork_leader(const Options& options) {
  clone_args args{};
  args.exit_signal = SIGCHLD;
  if (options.cgroup) {
    args.flags = CLONE_INTO_CGROUP;  // in the leaf from its first instruction, so no fork can escape it
    args.cgroup = kCgroupFd;
  }
  const long pid = syscall(SYS_clone3, &args, sizeof(args));
  if (pid >= 0 || options.cgroup || errno != ENOSYS) return static_cast<pid_t>(pid);
  return fork();  // if the kernel or a seccomp filter refuses clone3
}

// Returns the leader's pid, or -1 after it has reported the failure.
pid_t start_leader(const Options& options) {
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
    report(ReportType::kSpawnFailed, errno, "pipe2");
    return -1;
  }
  const pid_t pid = fork_leader(options);
  if (pid == 0) become_leader(options, pipe_fds[1]);
  const int fork_errno = errno;
  close(pipe_fds[1]);
  if (pid < 0) {
    report(ReportType::kSpawnFailed, fork_errno, "clone3");
    return -1;
  }
  ExecFailure failure{};
  ssize_t got;
  do {
    got = read(pipe_fds[0], &failure, sizeof(failure));
  } while (got < 0 && errno == EINTR);
  close(pipe_fds[0]);
  if (got == 0) return pid;  // a successful exec closed the pipe
  int status;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (got == sizeof(failure)) {
    report(ReportType::kSpawnFailed, failure.err, failure.step);
  } else {
    report(ReportType::kSpawnFailed, EIO, "exec");
  }
  return -1;
}

// Closes the guard's copies of the case's pipes, so that their end-of-file depends only on the case.
void drop_case_descriptors(const Options& options) {
  const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2; ++fd) {
    if (null_fd >= 0) {
      dup2(null_fd, fd);
    } else {
      close(fd);
    }
  }
  if (options.events) close(kEventsFd);
  const int first_inherited = kFirstLeaseFd + options.leases;
  for (int i = 0; i < options.inherited_count; ++i) close(first_inherited + i);
}

// Returns the status in the format of waitpid().
int wait_status(const siginfo_t& info) {
  constexpr int kCoreDumped = 0x80;
  if (info.si_code == CLD_EXITED) return (info.si_status & 0xff) << 8;
  return info.si_status | (info.si_code == CLD_DUMPED ? kCoreDumped : 0);
}

enum class Children { kSome, kNone };

// Reaps all ended children. The leader's status is reported first: a process that kills this guard after the
// leader was reaped cannot hide the verdict.
Children reap(pid_t& leader) {
  for (;;) {
    siginfo_t info{};
    rusage used{};
    const long got = syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT, &used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Children::kNone;  // ECHILD
    if (info.si_pid == 0) return Children::kSome;
    if (info.si_pid == leader) {
      leader = 0;
      report_leader(info.si_pid, wait_status(info), used);
    }
    waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

// Signals every process of the case. If the guard is PID 1, kill(-1) reaches all other processes of the
// namespace, unless a seccomp filter of an outer process refuses -1.
void signal_all(const Options& options, const Means& means, int signal) {
  if (options.init && (kill(-1, signal) == 0 || errno == ESRCH)) return;
  signal_descendants(getpid(), signal, means.own_children,
                     means.pids == nullptr ? PidList() : PidList(means.pids, kMostPids));
}

// Kills until no child is left. If the guard is PID 1, one kill(-1) is final, because the kernel restarts a
// fork that races with it. cgroup.kill is final in the same way. The sweep that follows finds processes that
// a root test moved out of the leaf. In other layers, a round may lose the race against a fork, and a later
// round wins. The report is sent once the kernel has accepted the kill, or after the first round.
void end_everything(const Options& options, const Means& means, pid_t leader) {
  bool answered = false;
  const auto answer = [&answered] {
    if (!answered) report(ReportType::kObeyed, static_cast<int>(CommandType::kKill));
    answered = true;
  };
  long pause_ns = kFirstPauseNs;
  for (int round = 1;; ++round) {
    if (means.cgroup_kill >= 0 && pwrite(means.cgroup_kill, "1", 1, 0) == 1) answer();
    signal_all(options, means, SIGKILL);
    answer();
    if (reap(leader) == Children::kNone) return;
    // A killed child is usually reaped within microseconds. The wait for one in uninterruptible sleep, or for
    // one that only root can kill, must not burn CPU time.
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    const timespec pause{0, pause_ns};
    if (round % kRoundsOfAPause == 0 && pause_ns < kLongestPauseNs) pause_ns *= 2;
    (void)sigtimedwait(&chld, nullptr, &pause);
    if (reap(leader) == Children::kNone) return;
  }
}

// Removes the leaf and, from the last guard, the run's cgroup. After the runner's death, no other process
// does this.
void remove_leaf(const Options& options) {
  if (!options.cgroup) return;
  rmdir(options.leaf);
  if (char* slash = strrchr(options.leaf, '/'); slash != nullptr) {
    *slash = '\0';
    rmdir(options.leaf);
  }
}

// Continues a runner that a test has stopped, so that the runner's limits stay in force. This happens
// regularly, and once at the end. A stop of the whole process group (Ctrl-Z) comes from the user. In that
// case a SIGTSTP is pending in this process, which blocks all signals.
void continue_runner(pid_t runner) {
  sigset_t waiting;
  if (sigpending(&waiting) == 0 && sigismember(&waiting, SIGTSTP) == 0) kill(runner, SIGCONT);
}

// Reports a stop of the leader. The leader's group is the terminal's foreground group, so only that group
// receives Ctrl-Z.
void report_stop(const Options& options, pid_t leader) {
  siginfo_t info{};
  if (!options.terminal || leader == 0) return;
  if (waitid(P_PID, static_cast<id_t>(leader), &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == leader)
    report(ReportType::kLeaderStopped, info.si_status);
}

// Stops or continues the case. If no cgroup exists, SIGCONT also continues processes that a test had stopped
// itself.
void freeze(const Options& options, const Means& means, bool hold) {
  if (means.cgroup_freeze >= 0 && pwrite(means.cgroup_freeze, hold ? "1" : "0", 1, 0) == 1) return;
  signal_all(options, means, hold ? SIGSTOP : SIGCONT);
}

enum class Next { kGoOn, kEnd, kOrphaned };

Next handle_command(const Options& options, const Means& means) {
  Command command{};
  const ssize_t got = recv(kControlFd, &command, sizeof(command), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Next::kGoOn;
  if (got != sizeof(command)) return Next::kOrphaned;
  if (command.type == CommandType::kKill) return Next::kEnd;
  if (command.type == CommandType::kFreeze) {
    freeze(options, means, command.value != 0);
  } else {
    signal_all(options, means, command.value);
  }
  report(ReportType::kObeyed, static_cast<int>(command.type));
  return Next::kGoOn;
}

// Waits until the runner has written the id maps, which is not possible before the exec of this program
// (spawn.h). Returns false if the runner has ended.
bool await_maps() {
  Command command{};
  pollfd runner{kControlFd, POLLIN, 0};
  while (poll(&runner, 1, -1) < 0 && errno == EINTR) {
  }
  return recv(kControlFd, &command, sizeof(command), MSG_DONTWAIT) == sizeof(command) &&
         command.type == CommandType::kMapsWritten;
}

// Returns the processes that the case must not signal. In a PID namespace the case cannot see any of them.
Protected protected_processes(const Options& options) {
  if (options.init) return {};
  Protected who{getppid(), getpgid(getppid()), getpid(), getpgrp(), {}};
  if (options.signal_scope == SignalScope::kNone) return who;
  PidList threads(who.threads, kMostThreads);
  append_threads(who.runner, threads);
  return who;
}

// Opens the resources of the guard. If one is missing, the runner later kills the processes that this guard
// cannot reach.
Means open_means(const Options& options) {
  Means means;
  void* const pids =
      mmap(nullptr, kMostPids * sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pids != MAP_FAILED) means.pids = static_cast<pid_t*>(pids);
  if (!options.init) means.own_children = open_children(getpid());
  if (options.cgroup) means.cgroup_kill = openat(kCgroupFd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
  if (options.cgroup) means.cgroup_freeze = openat(kCgroupFd, "cgroup.freeze", O_WRONLY | O_CLOEXEC);
  means.epoll = epoll_create1(EPOLL_CLOEXEC);
  return means;
}

// Uses epoll, because poll() refuses more descriptors than the limit of open files, which a test may lower.
bool watch(const Means& means, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return epoll_ctl(means.epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

int guard_main(Options& options) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  if (options.await_maps && !await_maps()) return 0;
  // The case cannot trace this process, or read its memory or descriptors. Root can.
  if (!options.dumpable) prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // If the guard is PID 1, its own death kills the whole namespace. In other layers, the lifeline has this role.
  if (options.init) prctl(PR_SET_PDEATHSIG, SIGKILL);
  fcntl(kControlFd, F_SETFD, FD_CLOEXEC);
  fcntl(kCgroupFd, F_SETFD, FD_CLOEXEC);
  options.who = protected_processes(options);

  sigset_t chld;
  sigemptyset(&chld);
  sigaddset(&chld, SIGCHLD);

  const int signal_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
  const Means means = open_means(options);
  const bool can_wait = signal_fd >= 0 && watch(means, signal_fd) && watch(means, kControlFd);
  pid_t leader = start_leader(options);
  if (leader < 0) return 0;
  drop_case_descriptors(options);
  if (options.inherited_count > 0) report(ReportType::kLeaderStarted, 0);

  Next next = can_wait ? Next::kGoOn : Next::kEnd;
  const bool runner_in_reach = !options.init && options.signal_scope != SignalScope::kLandlock;
  while (next == Next::kGoOn) {
    if (reap(leader) == Children::kNone) break;
    report_stop(options, leader);
    epoll_event event{};
    const int ready = epoll_wait(means.epoll, &event, 1, runner_in_reach ? kPollRunnerMs : -1);
    if (ready == 0) continue_runner(options.who.runner);
    if (ready <= 0) continue;
    signalfd_siginfo info;
    while (read(signal_fd, &info, sizeof(info)) > 0) {
    }
    if (event.data.fd == kControlFd) next = handle_command(options, means);
  }
  if (next != Next::kGoOn) end_everything(options, means, leader);
  if (runner_in_reach && next != Next::kOrphaned) continue_runner(options.who.runner);
  if (next == Next::kOrphaned) remove_leaf(options);
  return 0;
}

// The child of a layer's probe. It leaves a daemon behind that only the layer itself can end. The pipe
// ensures that the daemon ignores SIGTERM and is an orphan before the probe's leader exits.
int leave_daemon() {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return 1;
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      signal(SIGTERM, SIG_IGN);
      (void)!write(ready[1], "r", 1);
      close(ready[1]);
      for (;;) pause();
    }
    _exit(0);
  }
  wait(nullptr);
  close(ready[1]);
  char byte;
  return read(ready[0], &byte, 1) == 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--probe") == 0) return leave_daemon();
  if (argc <= kCommandArgument) return 70;
  Options options;
  const char* flags = argv[kFlagsArgument];
  for (const char* flag = flags; *flag != '\0' && *flag != kFlagInherited; ++flag) {
    options.cgroup |= *flag == kFlagCgroup;
    options.init |= *flag == kFlagInit;
    options.terminal |= *flag == kFlagTerminal;
    options.events |= *flag == kFlagEvents;
    options.dumpable |= *flag == kFlagDumpable;
    options.keep_privileges |= *flag == kFlagKeepPrivileges;
    options.await_maps |= *flag == kFlagAwaitMaps;
    if (*flag == kFlagLandlock) options.signal_scope = SignalScope::kLandlock;
    if (*flag == kFlagFilter) options.signal_scope = SignalScope::kFilter;
    options.leases += *flag == kFlagLease ? 1 : 0;
  }
  for (const char* at = strchr(flags, kFlagInherited); at != nullptr; at = strchr(at + 1, kFlagInherited)) {
    if (options.inherited_count == kMaxInherited) return 70;
    options.inherited[options.inherited_count++] = atoi(at + 1);
  }
  options.leaf = argv[kLeafArgument];
  options.command = argv + kCommandArgument;
  return guard_main(options);
}
