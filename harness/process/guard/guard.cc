// The guard: parent of a case's leader under every containment layer. It adopts orphans
// (subreaper, or PID 1 of a namespace), reaps them, forwards signals, and kills whatever is left
// when told to, or when the runner is gone.
//
// It is a separate static program so that it can be read in one sitting, starts in a fraction of a
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
// Between two rounds of killing: doubled after some, so that many guards leave the processors to those that end.
constexpr long kFirstPauseNs = 500'000;
constexpr long kLongestPauseNs = 50'000'000;
constexpr int kRoundsOfAPause = 8;
// A round of signals reaches at most this number of processes; the next round reaches others.
constexpr size_t kMostPids = 65'536;
// Without PATH; the runner looks for a suite's program there too (runner/machine/installation.cc).
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

// Taken before the case starts: a test may lower the limits of open files and of memory of its guard to 0.
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
  // A refused message means that the runner is gone; the lifeline says so right after.
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

// Returns only on failure, with errno. Not execvp: that hands a file without a valid header to /bin/sh, and a
// broken binary would be reported as the shell's exit 127. It searches as execvp does.
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
    errno = ENAMETOOLONG;  // a path that was cut is the path of something else
    if (wanted >= 0 && wanted < PATH_MAX) execve(path, command, environ);
    if (errno != ENOENT && errno != ENOTDIR) reason = errno;
    search += length;
    if (*search == '\0') break;
  }
  errno = reason;
}

// The case holds the leases through descriptions of its own: what it unlocks is only its share, and not the lock that
// this guard keeps (harness/devices/leases/lease.h says which byte is whose). What is no regular file is no lock.
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

// Gives the leader the inherited descriptors under their own numbers, and the leases under free numbers. Returns the new
// number of the pipe. All of them move above the highest number first, so that no move overwrites a source.
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

// Closes all descriptors of the leader but the standard ones, the events and the leases. Returns the new number of the
// pipe.
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

// Runs in the leader between fork and exec. The order matters: the terminal needs the session, the signal scope
// forbids nothing that is still to be done, the signal mask goes last so that no signal finds half a set-up.
[[noreturn]] void become_leader(const Options& options, int pipe_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the guard may be killed by a test of the same user
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
    args.flags = CLONE_INTO_CGROUP;  // in the leaf from its first instruction: no window to fork out of it
    args.cgroup = kCgroupFd;
  }
  const long pid = syscall(SYS_clone3, &args, sizeof(args));
  if (pid >= 0 || options.cgroup || errno != ENOSYS) return static_cast<pid_t>(pid);
  return fork();  // a kernel or a seccomp filter without clone3
}

// The leader's pid, or -1 after the failure has been reported.
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
  if (got == 0) return pid;  // closed by a successful exec
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

// The guard must not hold the case's pipes: their end-of-file belongs to the case.
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

// As waitpid() would give it.
int wait_status(const siginfo_t& info) {
  constexpr int kCoreDumped = 0x80;
  if (info.si_code == CLD_EXITED) return (info.si_status & 0xff) << 8;
  return info.si_status | (info.si_code == CLD_DUMPED ? kCoreDumped : 0);
}

enum class Children { kSome, kNone };

// Reaps everything that can be reaped. The leader's status is reported first: whoever waits until the leader is
// reaped and then kills this process comes too late to hide the verdict.
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

// As PID 1: every process of the namespace but this one, unless a filter above this one refuses -1.
void signal_all(const Options& options, const Means& means, int signal) {
  if (options.init && (kill(-1, signal) == 0 || errno == ESRCH)) return;
  signal_descendants(getpid(), signal, means.own_children,
                     means.pids == nullptr ? PidList() : PidList(means.pids, kMostPids));
}

// Kills until no child is left. As PID 1 one kill(-1) is final: the kernel restarts a fork that races with
// it. Under cgroup.kill likewise; the sweep that follows catches what a root test moved out of the leaf.
// Without either it is a race against forks that each round wins with some probability.
// The answer goes out once the kernel has the kill in hand, or after the first round.
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
    // A killed child is reaped within microseconds; one in uninterruptible sleep, or one that only root can
    // kill, is waited for without burning CPU.
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    const timespec pause{0, pause_ns};
    if (round % kRoundsOfAPause == 0 && pause_ns < kLongestPauseNs) pause_ns *= 2;
    (void)sigtimedwait(&chld, nullptr, &pause);
    if (reap(leader) == Children::kNone) return;
  }
}

// After the runner's death nobody else removes the leaf and, by the last guard, the run's cgroup.
void remove_leaf(const Options& options) {
  if (!options.cgroup) return;
  rmdir(options.leaf);
  if (char* slash = strrchr(options.leaf, '/'); slash != nullptr) {
    *slash = '\0';
    rmdir(options.leaf);
  }
}

// Where a test can stop the runner, nothing would enforce its limits: now and then, and last of all, it is continued.
// A stop of the whole group (Ctrl-Z) is the user's: then this process, which blocks all signals, has a SIGTSTP waiting.
void continue_runner(pid_t runner) {
  sigset_t waiting;
  if (sigpending(&waiting) == 0 && sigismember(&waiting, SIGTSTP) == 0) kill(runner, SIGCONT);
}

// The terminal's foreground group is the leader's: nobody else hears its Ctrl-Z.
void report_stop(const Options& options, pid_t leader) {
  siginfo_t info{};
  if (!options.terminal || leader == 0) return;
  if (waitid(P_PID, static_cast<id_t>(leader), &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == leader)
    report(ReportType::kLeaderStopped, info.si_status);
}

// Where no cgroup can hold it, what a test has stopped itself goes on with the rest.
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

// The runner cannot write the id maps before this program is executed (spawn.h). False: the runner is gone.
bool await_maps() {
  Command command{};
  pollfd runner{kControlFd, POLLIN, 0};
  while (poll(&runner, 1, -1) < 0 && errno == EINTR) {
  }
  return recv(kControlFd, &command, sizeof(command), MSG_DONTWAIT) == sizeof(command) &&
         command.type == CommandType::kMapsWritten;
}

// Outside of a PID namespace: there the case sees neither.
Protected protected_processes(const Options& options) {
  if (options.init) return {};
  Protected who{getppid(), getpgid(getppid()), getpid(), getpgrp(), {}};
  if (options.signal_scope == SignalScope::kNone) return who;
  PidList threads(who.threads, kMostThreads);
  append_threads(who.runner, threads);
  return who;
}

// What cannot be opened is missing later; then the runner ends what this guard cannot.
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

// Not poll(): that refuses more descriptors than the limit of open files, which a test may lower.
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
  // What it guards cannot trace it, nor read its memory or its descriptors. Root still can.
  if (!options.dumpable) prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // As PID 1 its own death is the strongest kill there is; elsewhere the lifeline does the work.
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

// The child of a layer's probe: leaves a daemon behind that only the layer itself can end. The pipe makes
// sure that the daemon is deaf to SIGTERM, and orphaned, before the probe's leader exits.
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
