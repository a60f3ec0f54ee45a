// The third step of a run: which cases there are. It is the same on every machine with these suites.
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

// FoundPlan has the cases of a run by discovery, of a plan file, or of one command.
struct FoundPlan {
  PlanOutcome outcome;
  Extent extent;
  std::string source{};                  // the text of --plan (PlanFile::source)
  std::optional<InputFile> plan_file{};  // of --plan
  std::optional<PlannedRest> rest{};
  RunRequest of_plan{};  // what the plan gives
};

Result<PlannedRun> plan_run(const Checked& checked, FoundPlan found);

// Finds the cases by --plan or by discovery.
Result<FoundPlan> find_plan(const Checked& checked, RunDisplay& display);

// The part of the plan that this run has.
struct Part {
  std::optional<PlannedShard> shard;
  std::optional<PlannedRest> rest;
  // Of the plan, with the cases that are not in this part:
  std::string digest;
  std::vector<std::string> filters;
};

// Leaves the cases of this part in `planned`. None: it has all.
Result<std::optional<Part>> take_part(const Checked& checked, PlannedRun& planned);

}  // namespace proctor::runner
