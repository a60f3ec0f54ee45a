// Creates the batch script of `proctor slurm run`, and the commands with which users continue by hand.
//
// The command line of `proctor slurm run` has two parts: options of sbatch before `--`, and after it options of
// `proctor run` for each task.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor::cli {

// All paths are absolute, and the same on all nodes.
struct SlurmArray {
  std::string directory{};  // contains the plan, the script, and a directory for each shard
  std::string start{};      // directory where the run was started; tasks start there
  std::string proctor{};    // this executable
  int shards = 1;
  std::vector<std::string> task_arguments{};  // arguments of `proctor run`
  std::vector<std::string> sbatch_options{};  // typed by the user
};

std::string plan_of(const SlurmArray& array);    // returns DIR/plan.json
std::string script_of(const SlurmArray& array);  // returns DIR/task.sh

// Returns the script. Each task runs its shard. A task that Slurm restarts runs the remaining cases of its shard.
std::string script_text(const SlurmArray& array);

// `tasks` is the value of --array: "1-8" or "2,5".
std::vector<std::string> sbatch_line(const SlurmArray& array, const std::string& tasks);

// Returns a shell command that runs the remaining cases of these shards and waits for them.
std::string continue_line(const SlurmArray& array, const std::vector<int>& shards);
std::string merge_line(const SlurmArray& array, const std::string& out);

using Words = std::vector<std::string>;

// Returns an error for options that `proctor run` refuses, and for those that do not fit one task of many: --shard,
// --out, --case, ...
Result<void> check_task_arguments(const Words& arguments);

// Returns an error for options that Proctor sets itself (--array, --parsable, --wait, --wrap). A word that is not an
// option's value is also an error, because sbatch would use it as the script.
Result<void> check_sbatch_options(const Words& options);

}  // namespace proctor::cli
