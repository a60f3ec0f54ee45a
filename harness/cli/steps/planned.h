// The third step of a run: which cases there are. It is the same on every machine with these suites.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/cli/steps/checked.h"
#include "harness/plan/planner.h"

namespace proctor::cli {

struct FoundPlan {
  PlanOutcome outcome;
  Extent extent;
  std::string source{};                  // the text of --plan (PlanFile::source)
  std::optional<InputFile> plan_file{};  // of --plan
  std::optional<PlannedRest> rest{};
  RunRequest of_plan{};  // what the plan gives
};

struct Planned {
  Plan plan;
  std::vector<std::string> config_files;
  std::vector<InputFile> inputs;  // the files that decided what is run, for who runs it again
  RunRequest request;             // of the options, the plan and the keys
  Extent extent;
  std::string source;
  std::optional<PlannedRest> rest;  // the plan is what other runs left
  std::vector<Warning> warnings;    // of all steps so far
};

Result<Planned> plan_run(const Checked& checked, const Manner& manner);

// For Manner::find_plan: by --plan or by discovery.
Result<FoundPlan> find_plan(const Checked& checked);

// The part of the plan that this run has.
struct Part {
  std::optional<PlannedShard> shard;
  std::optional<PlannedRest> rest;
  // Of the plan, with the cases that are not in this part:
  std::string digest;
  std::vector<std::string> filters;
};

// Leaves the cases of this part in `planned`. None: it has all.
Result<std::optional<Part>> take_part(const Checked& checked, Planned& planned);

}  // namespace proctor::cli
