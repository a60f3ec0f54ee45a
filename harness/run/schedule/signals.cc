#include "harness/run/schedule/signals.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/post.hpp>

namespace proctor {
namespace {

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

StopSignals::StopSignals(boost::asio::io_context& io, OnStop on_stop)
    : on_stop_(std::move(on_stop)), signals_(io, SIGINT, SIGTERM) {
  if (!is_ignored(SIGHUP)) signals_.add(SIGHUP);
  wait();
}

void StopSignals::wait() {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    on_stop_(signal, false);
    wait();
  });
}

bool StopSignals::watch_parent() {
  const pid_t parent = ::getppid();
  if (parent <= 1) return true;  // init does not die; a container's PID 1 takes us with it
  const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, parent, 0));
  if (fd < 0) {
    if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) return false;
    if (::getppid() != parent) ::raise(SIGTERM);  // it died before the prctl
    return true;
  }
  parent_.emplace(signals_.get_executor(), fd);
  parent_->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this](const boost::system::error_code& error) {
                        if (!error) on_stop_(SIGTERM, true);
                      });
  if (::getppid() != parent) {  // it died before pidfd_open, and its pid may have been reused
    parent_.reset();
    boost::asio::post(signals_.get_executor(), [this] { on_stop_(SIGTERM, true); });
  }
  return true;
}

void StopSignals::cancel() {
  boost::system::error_code ignored;
  signals_.cancel(ignored);
  if (parent_) parent_->cancel(ignored);
}

JobSignals::JobSignals(boost::asio::io_context& io, OnSignal on_suspend, OnSignal on_dump)
    : on_suspend_(std::move(on_suspend)), on_dump_(std::move(on_dump)), signals_(io, SIGUSR1) {
  if (!is_ignored(SIGTSTP)) signals_.add(SIGTSTP);
  wait();
}

void JobSignals::wait() {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    (signal == SIGTSTP ? on_suspend_ : on_dump_)();
    wait();
  });
}

// Asio leaves a signal with its default action, and that of USR1 would end this process before its reports.
JobSignals::~JobSignals() {
  sigset_t dump;
  sigemptyset(&dump);
  sigaddset(&dump, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &dump, nullptr);
  boost::system::error_code ignored;
  signals_.clear(ignored);
  ::signal(SIGUSR1, SIG_IGN);
  ::pthread_sigmask(SIG_UNBLOCK, &dump, nullptr);
}

void JobSignals::stop_here(Who who) {
  struct sigaction by_default {};
  struct sigaction ours {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(SIGTSTP, &by_default, &ours);
  if (who == Who::kGroup) {
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

void die_by_signal(int signal) {
  ::prctl(PR_SET_DUMPABLE, 0);  // a core of this process would stand for the command's, and says nothing
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);  // not reached unless the signal cannot kill this process (PID 1 of a namespace)
}

}  // namespace proctor
