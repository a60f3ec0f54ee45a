// What JUnit calls the cases of a suite. Consumers know a test over the years by (classname, name), so these are functions
// of the case and of the configuration alone: whatever else runs, is selected, or is another machine's shard does not
// change them.
//
// The names are the framework's own. Where two suites of a configuration may have the same ones, the classname of both
// begins with the name of the suite: `attention.MoeTest`. Which names a suite has is known only when its program lists
// them, and a suite that does not run is not listed; so two suites whose names come from the same framework, as far as
// the configuration tells, wear their own always; and so does a command whose run is joined with others, of which nobody knows
// what they are. `junit_classname` says it for a suite: "suite" or "framework".
// A pair that a framework itself repeats has the case's own id in its name.
#pragma once

#include <vector>

#include "harness/plan/config.h"

namespace proctor {

// `suite`: as chosen from the configuration, or the command after `--`; `cases`: all that it lists.
void name_for_junit(const Config& config, const SuiteConfig& suite, std::vector<Case>& cases);

}  // namespace proctor
