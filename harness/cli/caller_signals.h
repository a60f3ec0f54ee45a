// CallerSignals converts signals to this process into requests to its run. Under CI, it also converts the death of the
// parent.
//
// Until the run begins, each signal has its default effect. Then INT, TERM and HUP stop the run, TSTP (Ctrl-Z) suspends
// it, and USR1 prints what its cases do. While reports are written, a stop is deferred (RunControl::late_stop()).
//
// Under CI=true, a job's shell may be killed while its children are not (`bash -c 'proctor ...; true'`). Proctor
// receives no signal in that case, so it has the kernel send one at the death of the parent. HUP and TSTP stay ignored
// if they were ignored at the start (nohup). SIGPIPE is always ignored: a closed stdout is only an error of one write.
// All other signals are ignored that would only end a run without reports. Batch systems send SIGUSR1, SIGUSR2 and
// SIGXCPU as warnings, and a test may send any signal.
#pragma once

#include <signal.h>

#include <utility>
#include <vector>

#include "harness/runner/schedule/run_control.h"

namespace proctor::cli {

// Only one object may exist at a time.
class CallerSignals {
 public:
  // Installs the handlers. `control` must outlive the object.
  explicit CallerSignals(const RunControl& control);
  // Restores the previous handlers.
  ~CallerSignals();
  CallerSignals(const CallerSignals&) = delete;
  CallerSignals& operator=(const CallerSignals&) = delete;

  // After this call, the death of the parent stops the run. Returns false if the death cannot be detected.
  bool watch_parent();

 private:
  void install(int signal, void (*handler)(int));

  std::vector<std::pair<int, struct sigaction>> before_;
};

// Suspends a run: stops this process, or its whole group, as SIGTSTP does by default. Returns when the process is
// continued. The kernel does not stop a process of an orphaned process group (signal(7)).
void stop_here(RunControl::Suspended what);

// Ignores all signals except INT, TERM, HUP, QUIT, signals of job control, and signals of program errors. Children
// start with the defaults.
void ignore_other_signals();

// Between these two calls, INT, TERM and HUP are blocked.
void hold_stop_signals();
void release_stop_signals();
bool stop_signal_waits();

// Ends this process by `signal` with its default action, so that a shell reports 128 + signal. It must be the last
// call.
[[noreturn]] void die_by_signal(int signal);

}  // namespace proctor::cli
