// How `proctor exec` ends, as a function of the journal (docs/reference/exec.md). The first of these that applies:
//
//   unkillable process, device lost, no device       75   the machine: retry elsewhere
//   time limit, stall limit, --deadline              124  we ended it
//   not found                                        127
//   not executable                                   126
//   no process could be made (EAGAIN, ENOMEM, ...)   75
//   guard lost, no end recorded                      125  we failed
//   a server (--ready-regex) told to end, and did    0    by that signal, or with 0 after it
//   stopped by a signal, killed after the grace      that signal
//   ended by a signal                                that signal
//   exited with 0 before it was ready                1    (--ready-regex)
//   exited with 0, its output could not be passed on 125
//   exited with N                                    N, also after a signal was forwarded to it
#pragma once

#include "reports/model/run_model.h"

namespace proctor {

struct ExecEnd {
  int code = 0;
  int signal = 0;  // not 0: raised
};

ExecEnd exec_end(const RunModel& model);

// Whether the command ended by itself, and its code or signal is passed on.
bool ended_by_itself(const RunModel& model);

}  // namespace proctor
