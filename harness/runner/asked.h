// The first step of a run merges its request with the keys of its files.
#pragma once

#include "harness/base/result.h"
#include "harness/plan/load_config.h"
#include "harness/request/run_request.h"

namespace proctor::runner {

struct AskedRun {
  RunRequest typed{};
  RunRequest keys{};     // of the files, as far as they count for the command
  RunRequest request{};  // both, the options first
  ConfigFiles files{};
};

// Returns whether the options select some of the cases.
bool leaves_cases_out(const SelectionOptions& chosen);

// Refuses files with mistakes in their keys of [run].
Result<AskedRun> ask(const RunRequest& typed);

}  // namespace proctor::runner
