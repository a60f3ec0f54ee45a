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

}  // namespace proctor
