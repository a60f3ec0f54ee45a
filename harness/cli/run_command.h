// `proctor run` and `proctor exec`: steps that take and return values (harness/cli/steps), in the order that their types
// force. The exit code of the run itself is a function of the journal (reports/resolve/run_end.h).
#pragma once

#include <string>
#include <vector>

#include "harness/cli/steps/asked.h"
#include "harness/cli/steps/manner.h"

namespace proctor::cli {

// Returns the exit code, or ends this process by the signal that ended the run.
int execute_run(TypedRun typed, const AfterDashes& after_dashes, const Manner& manner);

// Becomes the run of what the run in this directory left, with the options of that run and these words. Returns only if
// there is no such run: the exit code.
int resume_run(const std::string& run_dir, const std::vector<std::string>& more);

// A command line of `run --join` that cannot be read: the reports of the whole say so.
void refuse_part(const std::vector<std::string>& arguments, const Error& error);

}  // namespace proctor::cli
