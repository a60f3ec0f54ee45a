// The events outside that stop the runner: INT, TERM, HUP, and under CI the death of its parent.
//
// Under CI=true a job's shell may be killed while its children are not (`bash -c 'proctor ...; true'`). No
// signal arrives here then, so the parent is watched through a pidfd, or by PR_SET_PDEATHSIG if there are no
// pidfds. HUP stays ignored when it was ignored at the start (nohup). SIGPIPE is ignored for good: a closed
// stdout is only an error of one write. So is every other signal whose only effect would be a run without reports:
// batch systems send SIGUSR1, SIGUSR2 and SIGXCPU as warnings, and a test may send any.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <optional>

namespace proctor {

class StopSignals {
 public:
  // `parent_died` comes with SIGTERM.
  using OnStop = std::function<void(int signal, bool parent_died)>;

  StopSignals(boost::asio::io_context& io, OnStop on_stop);
  // Starts to watch the parent; returns false if neither way works here.
  bool watch_parent();
  void cancel();

 private:
  void wait();

  OnStop on_stop_;
  boost::asio::signal_set signals_;
  std::optional<boost::asio::posix::stream_descriptor> parent_;
};

// What a shell's user and a batch system ask for while the run goes on.
class JobSignals {
 public:
  using OnSignal = std::function<void()>;

  // TSTP (Ctrl-Z; not where it is ignored) and USR1.
  JobSignals(boost::asio::io_context& io, OnSignal on_suspend, OnSignal on_dump);
  ~JobSignals();
  JobSignals(const JobSignals&) = delete;
  JobSignals& operator=(const JobSignals&) = delete;

  // Stops this process, or its whole group, as SIGTSTP does by default, and returns once it goes on. The kernel does not
  // stop it where nobody could continue it (an orphaned process group, signal(7)).
  enum class Who { kSelf, kGroup };
  static void stop_here(Who who);

 private:
  void wait();

  OnSignal on_suspend_;
  OnSignal on_dump_;
  boost::asio::signal_set signals_;
};

// All but INT, TERM, HUP, QUIT, those of jobs, and those of a defect of this program. Children start with the defaults.
void ignore_other_signals();

// While reports are written, INT, TERM and HUP wait.
void hold_stop_signals();
void release_stop_signals();
bool stop_signal_waits();

// Ends this process by `signal` with its default action, so that a shell sees 128 + signal. Call it last.
[[noreturn]] void die_by_signal(int signal);

}  // namespace proctor
