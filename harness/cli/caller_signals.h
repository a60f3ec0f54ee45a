// CallerSignals turns signals to this program into requests to its run, and under CI the death of the parent.
//
// Until the run begins, each signal has its default effect. From then on INT, TERM and HUP stop the run, TSTP (Ctrl-Z)
// suspends it, and USR1 has it print what its cases do. While the reports are written, a stop waits
// (RunControl::late_stop()).
//
// Under CI=true a job's shell may be killed while its children are not (`bash -c 'proctor ...; true'`). No signal arrives
// here then, so the kernel sends one at the death of the parent. HUP stays ignored when it was ignored at the start
// (nohup), and so does TSTP. SIGPIPE is ignored for good: a closed stdout is only an error of one write. So is every other
// signal whose only effect would be a run without reports: batch systems send SIGUSR1, SIGUSR2 and SIGXCPU as warnings, and
// a test may send any.
#pragma once

#include <signal.h>

#include <utility>
#include <vector>

#include "harness/runner/schedule/run_control.h"

namespace proctor::cli {

// One at a time.
class CallerSignals {
 public:
  // Installs the handlers. `control` must outlive it.
  explicit CallerSignals(const RunControl& control);
  // Signals have the effect that they had before.
  ~CallerSignals();
  CallerSignals(const CallerSignals&) = delete;
  CallerSignals& operator=(const CallerSignals&) = delete;

  // From now on the death of the parent stops the run. Returns false if it cannot be detected here.
  bool watch_parent();

 private:
  void install(int signal, void (*handler)(int));

  std::vector<std::pair<int, struct sigaction>> before_;
};

// The pause of a run: stops this process, or its whole group, as SIGTSTP does by default, and returns once it goes on. The
// kernel does not stop a process of an orphaned process group (signal(7)).
void stop_here(RunControl::Suspended what);

// All but INT, TERM, HUP, QUIT, those of jobs, and those of a defect of this program. Children start with the defaults.
void ignore_other_signals();

// Between these two INT, TERM and HUP wait.
void hold_stop_signals();
void release_stop_signals();
bool stop_signal_waits();

// Ends this process by `signal` with its default action, so that a shell sees 128 + signal. Call it last.
[[noreturn]] void die_by_signal(int signal);

}  // namespace proctor::cli
