// The exit code of a run as a function of its journal.
#pragma once

#include "reports/run_model.h"

namespace proctor {

// 1, 75, 3 or 0 (harness/core/exit_code.h), the first that applies:
//   1   fail, crash, timeout, stall, error(no_result), xpass of a `proctor`-kind case, more flaky cases than
//       the policy allows
//   75  a case that was bad on one device only (device_suspect), any other error, device_lost,
//       notrun(device_lost), notrun(breaker), a process that could not be killed
//   3   any other notrun, nothing executed, no device of a needed kind, fewer executed than --min-executed
//   0   otherwise
// A run that was stopped by a signal ends by that signal afterwards; that is the caller's business.
int exit_code(const RunModel& model);

// Fewer executed cases than this are too few: --min-executed, and one at least, unless the run is a shard
// that has no cases.
int least_executed(const RunModel& model);

// Cases that were bad and are good now, without a device to blame.
struct FlakyCases {
  int count = 0;
  bool allowed = true;  // by the run's policy
};
FlakyCases flaky_cases(const RunModel& model);

// The signal by which the runner ends itself after the reports, or 0: the one that stopped the run, or for
// `exec` the one that ended the command.
int ending_signal(const RunModel& model);

// What a shell sees: 128 + ending_signal, else exit_code; for `exec` see exec_end.h.
int shell_exit_code(const RunModel& model);

}  // namespace proctor
