// The two parts of the command line of `proctor slurm run`: options of sbatch before `--`, and behind it those of
// `proctor run` that each task gets.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor::cli {

using Words = std::vector<std::string>;

// Refuses what `proctor run` refuses, and what does not fit one task of many: --shard, --out, --case, ...
Result<void> check_task_arguments(const Words& arguments);

// Refuses what belongs to Proctor (--array, --parsable, --wait, --wrap), and a word that is no value of an option:
// sbatch would take it for the script.
Result<void> check_sbatch_options(const Words& options);

}  // namespace proctor::cli
