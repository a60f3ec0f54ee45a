// The last step of a run: its cases are executed, and its reports are written.
#pragma once

#include "harness/cli/steps/prepared.h"

namespace proctor::cli {

struct Finished {
  int code = 0;    // of the shell
  int signal = 0;  // by which this process is to end itself; 0: by its code
};

Finished finish_run(const Checked& checked, Prepared& prepared, const Manner& manner);

}  // namespace proctor::cli
