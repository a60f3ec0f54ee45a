// The batch script of `proctor slurm run`, and the lines with which people go on by hand.
//
// The two parts of the command line of `proctor slurm run`: options of sbatch before `--`, and behind it those of
// `proctor run` that each task gets.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor::cli {

// All paths are absolute, and the same on all nodes.
struct SlurmArray {
  std::string directory{};  // has the plan, the script, and a directory of each shard
  std::string start{};      // where the run was started, and its tasks are
  std::string proctor{};    // this executable
  int shards = 1;
  std::vector<std::string> task_arguments{};  // of `proctor run`
  std::vector<std::string> sbatch_options{};  // of the caller
};

std::string plan_of(const SlurmArray& array);    // DIR/plan.json
std::string script_of(const SlurmArray& array);  // DIR/task.sh

// Each task runs its shard; one that Slurm starts again goes on with what is left of it.
std::string script_text(const SlurmArray& array);

// `tasks` as of --array: "1-8" or "2,5".
std::vector<std::string> sbatch_line(const SlurmArray& array, const std::string& tasks);

// For a shell: runs what these shards left, and waits for it.
std::string continue_line(const SlurmArray& array, const std::vector<int>& shards);
std::string merge_line(const SlurmArray& array, const std::string& out);

using Words = std::vector<std::string>;

// Refuses what `proctor run` refuses, and what does not fit one task of many: --shard, --out, --case, ...
Result<void> check_task_arguments(const Words& arguments);

// Refuses what belongs to Proctor (--array, --parsable, --wait, --wrap), and a word that is no value of an option:
// sbatch would take it for the script.
Result<void> check_sbatch_options(const Words& options);

}  // namespace proctor::cli
