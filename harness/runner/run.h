// Runs test cases from this program, as `proctor run`, `exec` and `accept` do. docs/how-to/embed-a-run.md has an example.
#pragma once

#include <optional>
#include <string>

#include "harness/base/result.h"
#include "harness/request/run_request.h"
#include "harness/runner/display.h"
#include "harness/runner/machine/machine.h"
#include "harness/runner/schedule/run_control.h"

namespace proctor {

// Executes the cases of the request on the machine, and writes the reports. The keys of the files of `request.config`
// are added to the request. An empty `config.directory` is the current directory. The run reopens the machine. A
// machine serves one run at a time.
//
// An error means that the run was refused or did not start. No case was executed then. The file `reports.junit`
// contains the reason.
Result<RunResult> run(const RunRequest& request, Machine& machine, RunDisplay& display);
// The same, with a `control` through which another thread or a signal handler stops the run.
Result<RunResult> run(const RunRequest& request, Machine& machine, RunDisplay& display, RunControl& control);

// Plans the same cases as run(). Executes no case and writes no file.
Result<PlannedRun> plan_run(const RunRequest& request, Machine& machine, RunDisplay& display);

// Writes the error into the reports of a request that is not run. Returns the error. Its hint names a report that could
// not be written.
Error refuse_run(RunRequest request, Error error);

}  // namespace proctor
