#include "harness/cli/caller_signals.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace proctor::cli {
namespace {

// Global state, because a signal handler receives only the number of its signal.
std::atomic<const RunControl*> the_control = nullptr;
std::atomic<pid_t> the_parent = 0;

// The signal that the kernel sends when a thread of the parent ends (PR_SET_PDEATHSIG). Proctor does not use it
// otherwise.
int parent_signal() { return SIGRTMIN + 7; }

void on_stop(int signal) {
  const RunControl* control = the_control;
  if (control == nullptr || control->state() == RunControl::State::kNew) die_by_signal(signal);
  control->stop(signal, StopCause::kSignal);
}

void on_suspend(int /*signal*/) {
  const int before = errno;
  const RunControl* control = the_control;
  if (control != nullptr && control->state() == RunControl::State::kRunning) {
    control->suspend();
  } else {
    stop_here(RunControl::Suspended::kProcess);
  }
  errno = before;
}

void on_dump(int /*signal*/) {
  const RunControl* control = the_control;
  if (control != nullptr && control->state() == RunControl::State::kRunning) control->dump();
}

// Checks the parent, because the parent may have other threads, and other processes may send the signal.
void on_parent(int /*signal*/) {
  const RunControl* control = the_control;
  const pid_t parent = the_parent;
  if (control == nullptr || parent == 0 || ::getppid() == parent) return;
  the_parent = 0;
  control->stop(SIGTERM, StopCause::kParentDied);
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

}  // namespace

CallerSignals::CallerSignals(const RunControl& control) {
  the_control = &control;
  install(SIGINT, on_stop);
  install(SIGTERM, on_stop);
  if (!is_ignored(SIGHUP)) install(SIGHUP, on_stop);
  if (!is_ignored(SIGTSTP)) install(SIGTSTP, on_suspend);
  install(SIGUSR1, on_dump);
}

CallerSignals::~CallerSignals() {
  if (the_parent != 0) ::prctl(PR_SET_PDEATHSIG, 0);
  for (const auto& [signal, action] : before_) ::sigaction(signal, &action, nullptr);
  the_parent = 0;
  the_control = nullptr;
}

// SA_NODEFER: SIGTSTP must be deliverable inside the handler, for stop_here().
void CallerSignals::install(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | (signal == SIGTSTP ? SA_NODEFER : 0);
  struct sigaction before {};
  if (::sigaction(signal, &action, &before) == 0) before_.emplace_back(signal, before);
}

bool CallerSignals::watch_parent() {
  const pid_t parent = ::getppid();
  if (parent <= 1)
    return true;  // init does not end, and the end of a container's PID 1 ends this process too
  the_parent = parent;
  install(parent_signal(), on_parent);
  if (::prctl(PR_SET_PDEATHSIG, parent_signal()) != 0) {
    the_parent = 0;
    return false;
  }
  on_parent(parent_signal());  // the parent may have ended before the prctl
  return true;
}

void stop_here(RunControl::Suspended what) {
  struct sigaction by_default {};
  struct sigaction ours {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(SIGTSTP, &by_default, &ours);
  if (what == RunControl::Suspended::kGroup) {
    ::kill(0, SIGTSTP);
  } else {
    ::raise(SIGTSTP);
  }
  ::sigaction(SIGTSTP, &ours, nullptr);
}

void ignore_other_signals() {
  for (const int signal :
       {SIGPIPE, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT})
    ::signal(signal, SIG_IGN);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) ::signal(signal, SIG_IGN);
}

void hold_stop_signals() {
  const sigset_t set = stop_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

void release_stop_signals() {
  const sigset_t set = stop_signals();
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

bool stop_signal_waits() {
  sigset_t waiting;
  if (::sigpending(&waiting) != 0) return false;
  return sigismember(&waiting, SIGINT) == 1 || sigismember(&waiting, SIGTERM) == 1 ||
         sigismember(&waiting, SIGHUP) == 1;
}

void die_by_signal(int signal) {
  ::prctl(PR_SET_DUMPABLE, 0);  // a core dump of this process would look like the command's
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);  // reached only if the signal cannot end this process (PID 1 of a namespace)
}

}  // namespace proctor::cli
