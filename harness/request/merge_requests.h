// Merges requests, and lists the values that narrow a run, for the gate.
#pragma once

#include <vector>

#include "harness/journal/events.h"
#include "harness/request/option.h"
#include "harness/request/run_request.h"

namespace proctor {

// Values of `weaker` are added where `stronger` gives none. In a run: the command line, the plan, [profile.NAME.run], [run]
// of the project file, [run] of the user's file, the built-in defaults (docs/reference/config.md).
RunRequest merge(RunRequest stronger, const RunRequest& weaker);

// The part of a request that counts for the command, if it was read from a file; and the part that a plan carries.
RunRequest keys_for(const RunRequest& keys, Command command);
RunRequest part_in_plan_file(const RunRequest& request);

// Return the typed options, and the keys in force, that can change the cases or how they are judged.
std::vector<NarrowingOption> narrowing_options(const RunRequest& typed, unsigned command);
std::vector<NarrowingOption> narrowing_keys(const RunRequest& typed, const RunRequest& keys);

}  // namespace proctor
