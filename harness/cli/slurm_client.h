// Runs the Slurm commands of `proctor slurm run`: sbatch, squeue and scancel. Every call has a time limit. If the
// controller is down, squeue retries for 18 s before it reports that (22.05).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor::cli {

struct SlurmJob {
  std::string id{};       // id of the array: "4711"
  std::string cluster{};  // "": the only cluster
};

// Parses the output of `sbatch --parsable`: "4711" or "4711;cluster".
Result<SlurmJob> parse_job(std::string_view output);

// Returns an error if sbatch, squeue or scancel is not in PATH.
Result<void> find_slurm();

struct SubmitError {
  Error error{};
  bool may_run = false;  // true if a job may exist
};

// Returns a usage error if sbatch refuses the options. Returns a system error if the controller does not respond, or if
// sbatch prints no job.
Result<SlurmJob, SubmitError> submit_job(const std::vector<std::string>& sbatch_line);

using IsUnwanted = std::function<bool()>;  // the program is killed when it returns true

// Runs scancel. Slurm sends TERM to running tasks, and KILL 30 s later (KillWait).
Result<void> cancel_job(const SlurmJob& job, const IsUnwanted& is_unwanted);

// The row of squeue for a task of the array.
struct SlurmTask {
  std::string state{};   // "RUNNING", "PENDING", "NODE_FAIL", ...
  std::string reason{};  // why the task waits: "Resources"
  std::string nodes{};
};

// Returns true if no process of the task is left and none will start. An unknown state counts as running.
bool is_over(std::string_view state);

// Tasks by their number.
using SlurmTasks = std::map<int, SlurmTask>;

// Parses lines "K|STATE|REASON|NODES".
SlurmTasks parse_tasks(std::string_view output);

// Runs squeue. The result is empty if the job ended some minutes ago. It is an error if the controller does not
// respond.
Result<SlurmTasks> ask_queue(const SlurmJob& job, const IsUnwanted& is_unwanted);

}  // namespace proctor::cli
