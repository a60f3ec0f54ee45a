// FoundPlan has the cases of a run by discovery, of a plan file, or of one command.
#pragma once

#include <optional>
#include <string>

#include "harness/journal/events.h"
#include "harness/plan/planner.h"
#include "harness/request/run_request.h"

namespace proctor::runner {

struct FoundPlan {
  PlanOutcome outcome;
  Extent extent;
  std::string source{};                  // the text of --plan (PlanFile::source)
  std::optional<InputFile> plan_file{};  // of --plan
  std::optional<PlannedRest> rest{};
  RunRequest of_plan{};  // what the plan gives
};

}  // namespace proctor::runner
