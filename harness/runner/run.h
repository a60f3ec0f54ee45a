// Runs test cases from this program, as `proctor run`, `exec` and `accept` do. docs/how-to/embed-a-run.md has an example.
#pragma once

#include <optional>
#include <string>

#include "harness/core/result.h"
#include "harness/machine/machine.h"
#include "harness/request/run_request.h"
#include "harness/run/schedule/run_control.h"
#include "harness/runner/display.h"

namespace proctor {

struct RunResult {
  std::string run_dir{};                // absolute: the journal, the logs and the reports
  int exit_code = 0;                    // of `proctor run` (core/exit_code.h), or of `exec`
  int signal = 0;                       // that ended the run, or the command of `exec`; 0: none
  std::optional<Error> not_recorded{};  // why the history lacks the run
};

// Executes the cases of the request on the machine, and writes the reports. The keys of the files of `request.config` are
// added to the request. An empty `config.directory` is the current one. The run opens the machine anew, which serves one
// run at a time.
//
// An error is a run that was refused, or did not start: no case was executed. A file of `reports.junit` says why.
Result<RunResult> run(const RunRequest& request, Machine& machine, RunDisplay& display);
// Another thread or a signal handler stops the run by `control`.
Result<RunResult> run(const RunRequest& request, Machine& machine, RunDisplay& display, RunControl& control);

// Plans the same cases, executes none and writes no file.
Result<PlannedRun> plan_run(const RunRequest& request, Machine& machine, RunDisplay& display);

// Writes into the reports of the request, which was never run, why.
void refuse_run(RunRequest request, const Error& error);

}  // namespace proctor
