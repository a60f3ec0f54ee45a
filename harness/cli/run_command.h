// `proctor run`, `exec` and `accept` as commands. harness/runner has the run itself.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/add_options.h"
#include "harness/runner/display.h"

namespace proctor::cli {

// Returns the exit code, or ends this process by the signal that ended the run.
int execute_run(TypedRequest typed, const AfterDashes& after_dashes, RunDisplay& display);

// Becomes the run of what the run in this directory left, with the options of that run and these words. Returns only if
// there is no such run: the exit code.
int resume_run(const std::string& run_dir, const std::vector<std::string>& more);

// Records a command line of `run --join` that cannot be read in the reports of the whole.
void refuse_part(const std::vector<std::string>& arguments, const Error& error);

}  // namespace proctor::cli
