// The last step of a run: its cases are executed, and its reports are written.
#pragma once

#include <string>

#include "harness/cli/steps/prepared.h"
#include "harness/core/result.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

struct Finished {
  int code = 0;    // of the shell
  int signal = 0;  // by which this process is to end itself; 0: by its code
};

// The file of --junit.
Result<void> write_junit_to(const std::string& path, const ResolvedRun& run);

Finished finish_run(const Checked& checked, Prepared& prepared, const Manner& manner);

}  // namespace proctor::cli
