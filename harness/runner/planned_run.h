// PlannedRun has the cases of a run. It is the same on every machine with these suites.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "harness/plan/plan.h"
#include "harness/request/run_request.h"

namespace proctor {

struct PlannedRun {
  Plan plan;
  std::vector<std::string> config_files;
  std::vector<InputFile> inputs;  // the files that determined what is run, for who runs it again
  RunRequest request;             // of the options, the plan and the keys
  Extent extent;
  std::string source;               // the text of --plan (PlanFile::source)
  std::optional<PlannedRest> rest;  // the plan is what other runs left
  std::vector<Warning> warnings;    // of all steps so far
};

}  // namespace proctor
