// The third step of a run: it determines the cases. The result is the same on every machine with these suites.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "harness/plan/planner.h"
#include "harness/request/run_request.h"
#include "harness/runner/checked.h"
#include "harness/runner/display.h"

namespace proctor::runner {

// The cases of a run. Their source is discovery, a plan file, or one command.
struct FoundPlan {
  PlanOutcome outcome;
  Extent extent;
  std::string source{};                  // the text of --plan (PlanFile::source)
  std::optional<InputFile> plan_file{};  // the file of --plan
  std::optional<PlannedRest> rest{};
  RunRequest of_plan{};  // the options that are stored in the plan
};

// Merges the options of the plan into the request, and checks the plan against the request.
Result<PlannedRun> plan_run(const Checked& checked, FoundPlan found);

// Finds the cases in the file of --plan, otherwise by discovery.
Result<FoundPlan> find_plan(const Checked& checked, RunDisplay& display);

// The part of a plan that this run executes: a shard, or the remaining cases of other runs, or both.
struct Part {
  std::optional<PlannedShard> shard;
  std::optional<PlannedRest> rest;
  // The digest and the filters belong to the whole plan, including the cases that are not in this part.
  std::string digest;
  std::vector<std::string> filters;
};

// Removes the cases of other parts from `planned`. Returns nothing if the run has all cases.
Result<std::optional<Part>> take_part(const Checked& checked, PlannedRun& planned);

}  // namespace proctor::runner
