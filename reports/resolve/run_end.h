// Computes the exit code of a run, and why it did not pass although no case failed.
//
// The exit code is the first of these that applies (harness/journal/outcome_meaning.h, docs/reference/outcomes.md):
//   1   fail, crash, timeout, stall, xpass of a `proctor`-kind case, an error that would also occur on another machine
//       (no_result, result_mismatch, discovery, spawn:ENOENT, spawn:EACCES, spawn:ENOEXEC), more flaky cases
//       than the policy allows (a budget above 0 % allows at least one)
//   75  a case that was bad on one device only (device_suspect), or that a device could not run (--each-device), any
//       other error, device_lost,
//       notrun(device_lost), notrun(device_unhealthy), notrun(machine_failures), a process that could not be killed,
//       devices that cannot be reached, a driver stack that changed, a report that could not be written, devices that
//       the command line requests and the machine lacks
//   3   any other notrun, nothing executed, no device of a kind that a suite needs, skips because of which it is
//       unknown whether the tests pass on a device (open_skips), fewer executed than --min-executed, a run whose
//       runner was killed before it finished the journal, even after the last case
//   0   otherwise
//
// The exit code of `proctor exec` is the first of these that applies (docs/reference/exec.md):
//
//   unkillable process, device lost, no device       75   the machine: retry elsewhere
//   time limit, stall limit, --deadline              124  Proctor ended it
//   not found                                        127
//   not executable                                   126
//   no process could be made (EAGAIN, ENOMEM, ...)   75
//   guard lost, no end recorded                      125  Proctor failed
//   a server (--ready-regex) that ended on request   0    by that signal, or with 0 after it
//   stopped by a signal, killed after the grace      that signal
//   ended by a signal                                that signal
//   exited with 0 before it was ready                1    (--ready-regex)
//   exited with 0, its output could not be passed on 125
//   exited with N                                    N, also after a signal was forwarded to it
#pragma once

#include <string_view>

#include "reports/resolve/resolved_run.h"

namespace proctor {

// Sets the exit code and the facts that determine it: flaky cases, skips, the minimum number of executed cases.
void resolve_exit_code(ResolvedRun& run);

// Sets ResolvedRun::problems: at least one if the exit code is not 0 and no case failed. It must be called after
// resolve_device_verdict(). Every format for CI systems shows each problem as an error of the suite `proctor.run`, so
// that no report passes if the run did not.
void resolve_problems(ResolvedRun& run);

inline constexpr std::string_view kRunSuite = "proctor.run";

// The name of the problem for an exit code that no other problem explains.
inline constexpr std::string_view kUnexplained = "exit_code";

// The name of the problem for flaky cases that the policy of the run does not allow.
inline constexpr std::string_view kFlakyProblem = "flaky";

// The name of the problem for devices on which cases failed or could not run, while they passed on others.
inline constexpr std::string_view kDeviceProblem = "device_suspect";

// Returns the problem of a run that was stopped from outside or killed.
RunProblem interruption(const ResolvedRun& run);

}  // namespace proctor
