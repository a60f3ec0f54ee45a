// Makes the plan of a run from its options: config -> suites -> kinds -> discovery -> selection -> limits.
#pragma once

#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "harness/plan/config.h"
#include "harness/plan/discovery.h"
#include "harness/plan/plan.h"
#include "harness/request/run_request.h"

namespace proctor {

// A plan, with the warnings and settings that belong to it.
struct PlanOutcome {
  Plan plan;
  std::vector<Warning> warnings;
  RunRequest run{};                // the keys of [run]
  std::vector<InputFile> files{};  // the configuration files that were read
};

// Makes the plan. `listers` start the listing commands in contained processes with a deadline.
Result<PlanOutcome> make_plan(const Config& config, const SelectionOptions& options, const SearchPaths& paths,
                              const Listers& listers);

// Sets the JUnit classname and name of the cases of a suite. Consumers track a test over the years by
// (classname, name). Therefore the names depend only on the case and the configuration. They do not depend on
// other suites of the run, on the selection or on shards.
//
// The names come from the framework. If two suites of a configuration can have the same names, the classname
// of both begins with the suite name: `attention.MoeTest`. The names of a suite are known only after its
// program has listed them, and unselected suites are not listed. Therefore two suites of the same framework
// always have the prefix, as far as the configuration determines the framework. A command whose run is merged
// with other runs has the prefix, too, because the other suites are unknown. The key `junit_classname`
// selects the form for a suite: "suite" or "framework". If a framework repeats a pair, the name contains the
// id of the case.
//
// `suite` is chosen from the configuration, or is the command after `--`. `cases` are all cases that it
// lists.
void name_for_junit(const Config& config, const SuiteConfig& suite, std::vector<Case>& cases);

}  // namespace proctor
