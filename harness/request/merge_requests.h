// Merges run requests, and lists the values that narrow a run, for the gate. The runner and the commands call it.
#pragma once

#include <vector>

#include "harness/journal/events.h"
#include "harness/request/option.h"
#include "harness/request/run_request.h"

namespace proctor {

// Returns `stronger` with the values that only `weaker` has. The order in a run: command line, plan, [profile.NAME.run]
// and [run] of the project file, [run] of the user's file, built-in defaults (docs/reference/config.md).
RunRequest merge(RunRequest stronger, const RunRequest& weaker);

// keys_for() returns the keys of a configuration file that apply to the command. part_in_plan_file() returns the values
// that a plan carries.
RunRequest keys_for(const RunRequest& keys, Command command);
RunRequest part_in_plan_file(const RunRequest& request);

// Return the typed options, and the keys in force, that can change the cases or their verdicts.
std::vector<NarrowingOption> narrowing_options(const RunRequest& typed, unsigned command);
std::vector<NarrowingOption> narrowing_keys(const RunRequest& typed, const RunRequest& keys);

}  // namespace proctor
