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

// Executes the cases of the request on the machine, and writes the reports. The keys of the files of `request.config` are
// added to the request. An empty `config.directory` is the current one. The run opens the machine anew, which serves one
// run at a time.
//
// An error means that the run was refused or did not start, and no case was executed. The file `reports.junit` has the reason.
Result<RunResult> run(const RunRequest& request, Machine& machine, RunDisplay& display);
// Another thread or a signal handler stops the run by `control`.
Result<RunResult> run(const RunRequest& request, Machine& machine, RunDisplay& display, RunControl& control);

// Plans the same cases, executes none and writes no file.
Result<PlannedRun> plan_run(const RunRequest& request, Machine& machine, RunDisplay& display);

// Writes the reason into the reports of a request that is not run. Returns the error; its hint names a file that could not be
// written.
Error refuse_run(RunRequest request, Error error);

}  // namespace proctor
