// The exit code of a run, as a function of its journal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/model/run_model.h"

namespace proctor {

// The first of these that applies (harness/core/exit_code.h, docs/reference/outcomes.md):
//   1   fail, crash, timeout, stall, xpass of a `proctor`-kind case, an error that another machine would have as
//       well (no_result, result_mismatch, discovery, spawn:ENOENT, spawn:EACCES, spawn:ENOEXEC), more flaky cases
//       than the policy allows (a budget above 0 % allows at least one)
//   75  a case that was bad on one device only (device_suspect), or that a device could not run (--each-device), any
//       other error, device_lost,
//       notrun(device_lost), notrun(device_unhealthy), notrun(breaker), a process that could not be killed,
//       devices that cannot be reached, a driver stack that changed, a report that could not be written, devices that
//       the command line asked for and the machine lacks
//   3   any other notrun, nothing executed, no device of a kind that a suite needs, skips that leave open whether the tests
//       pass on a device (open_skips), fewer executed than --min-executed, a run whose runner was killed before it had said all, even after the last case
//   0   otherwise
// A run that a signal stopped must end by that signal afterwards; the caller sees to it.
int exit_code(const RunModel& model);
// The same before the end of the run is recorded, as if the run ended now.
int exit_code_so_far(const RunModel& model);

// Whether no more than flaky cases that the policy does not allow makes the run red.
bool is_red_by_flaky_alone(const RunModel& model);

// Skips that leave open whether the tests of a suite pass on a device, and those that --fail-on-skip does not allow: a
// sentence each, without a full stop, that names the option to add. A suite gets none here if somebody wrote that it
// gets no device, or if this machine has none. Proctor's own suites state what a check needs, and are exempt.
std::vector<std::string> open_skips(const RunModel& model);

// How many cases must have been executed: --min-executed, and at least one, unless the run
// is a shard that has no cases.
int least_executed(const RunModel& model);

// Cases that were bad first and then good, where no device is to blame.
struct FlakyCases {
  int count = 0;
  bool allowed = true;  // the policy of the run allows that many
};
FlakyCases flaky_cases(const RunModel& model);
// The option with which the policy would allow them: "--flaky pass:4%".
std::string option_that_allows(const RunModel& model, const FlakyCases& flaky);

// The signal by which the runner ends itself after the reports: the one that stopped the run or, for `exec`,
// the one that ended the command. 0 if there is none.
int ending_signal(const RunModel& model);

// The status that a shell sees: 128 + ending_signal if there is one, else exit_code.
// For `exec` see exec_end.h.
int shell_exit_code(const RunModel& model);

// "green", "red", "machine", "incomplete" or "interrupted": stopped from outside, or killed, before
// everything planned was done and found good.
std::string_view run_verdict(const RunModel& model);

}  // namespace proctor
