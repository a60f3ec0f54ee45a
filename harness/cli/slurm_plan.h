// The plan of `proctor slurm run`: that of --plan, or what `proctor plan` makes of the run's arguments.
#pragma once

#include <string>

#include "harness/cli/slurm_arguments.h"
#include "harness/core/events.h"
#include "harness/core/result.h"

namespace proctor::cli {

struct DividedPlan {
  RunPlanned cases{};  // what a console knows of them before their shards begin
  int shards = 0;      // for how many it is balanced; 0: any number
};

// `start`: the directory where the run was started. An error names the file.
Result<DividedPlan> read_divided_plan(const std::string& file, const std::string& start);

struct PlanDivision {
  int shards = 1;
  std::string balance{};  // a history; "": the ids of the cases decide
};

// Makes the plan in `file`, as `proctor plan` in this process, and says so; an exit code.
int write_divided_plan(const RunArguments& arguments, const PlanDivision& division, const std::string& file);

// A copy, so that all that the tasks need is in one directory.
Result<void> copy_plan(const std::string& from, const std::string& file);

// `typed`: --shards, 0 where it is not given. `balanced`: DividedPlan::shards. Without both, the options of sbatch say it.
Result<int> count_shards(int typed, int balanced, const Words& sbatch_options);

}  // namespace proctor::cli
