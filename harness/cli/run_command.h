// Executes `proctor run`, `exec` and `accept`. The run itself is in harness/runner.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/add_options.h"
#include "harness/runner/display.h"

namespace proctor::cli {

// Returns the exit code. If a signal ended the run, this process ends by the same signal.
int execute_run(TypedRequest typed, const AfterDashes& after_dashes, RunDisplay& display);

// Resumes the run in this directory: replaces this process by a run of its remaining cases, with its options and with
// `more`. Returns an exit code only if that is impossible.
int resume_run(const std::string& run_dir, const std::vector<std::string>& more);

// Records an invalid command line of `run --join` in the reports of the joined run.
void refuse_part(const std::vector<std::string>& arguments, const Error& error);

}  // namespace proctor::cli
