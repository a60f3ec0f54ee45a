// The whole way from options to a plan: config -> suites -> kinds -> discovery -> selection -> limits.
#pragma once

#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "harness/plan/config.h"
#include "harness/plan/discovery.h"
#include "harness/plan/plan.h"
#include "harness/request/run_request.h"

namespace proctor {

struct PlanOutcome {
  Plan plan;
  std::vector<Warning> warnings;
  RunRequest run{};                // the keys of [run]
  std::vector<InputFile> files{};  // the configuration files that were read
};

// `listers` start the listing commands, contained and with a deadline.
Result<PlanOutcome> make_plan(const Config& config, const SelectionOptions& options, const SearchPaths& paths,
                              const Listers& listers);

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
//
// `suite`: as chosen from the configuration, or the command after `--`; `cases`: all that it lists.
void name_for_junit(const Config& config, const SuiteConfig& suite, std::vector<Case>& cases);

}  // namespace proctor
