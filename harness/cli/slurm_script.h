// The batch script of `proctor slurm run`, and the lines with which people go on by hand.
#pragma once

#include <string>
#include <vector>

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

}  // namespace proctor::cli
