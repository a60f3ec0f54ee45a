// The commands of Slurm that `proctor slurm run` uses: sbatch, squeue and scancel. None of them is waited for without a
// limit: where the controller is away, squeue tries for 18 s before it says so (22.05).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor::cli {

struct SlurmJob {
  std::string id{};       // of the array: "4711"
  std::string cluster{};  // "": the only one
};

// What `sbatch --parsable` prints: "4711" or "4711;cluster".
Result<SlurmJob> parse_job(std::string_view output);

// An error if sbatch, squeue or scancel is not in PATH.
Result<void> find_slurm();

struct SubmitError {
  Error error{};
  bool may_run = false;  // a job can exist
};

// A usage error if sbatch refuses the options. A system error if the controller does not respond, or if sbatch prints no
// job.
Result<SlurmJob, SubmitError> submit_job(const std::vector<std::string>& sbatch_line);

using IsUnwanted = std::function<bool()>;  // the program is killed when it returns true

// scancel. The tasks that run are sent TERM, and 30 s later KILL (KillWait).
Result<void> cancel_job(const SlurmJob& job, const IsUnwanted& is_unwanted);

// What squeue says of a task of the array.
struct SlurmTask {
  std::string state{};   // "RUNNING", "PENDING", "NODE_FAIL", ...
  std::string reason{};  // why it waits: "Resources"
  std::string nodes{};
};

// Whether no process of it is left, and none will come. A word that is not known is taken for one that goes on.
bool is_over(std::string_view state);

// By the number of the task.
using SlurmTasks = std::map<int, SlurmTask>;

// Of lines "K|STATE|REASON|NODES".
SlurmTasks parse_tasks(std::string_view output);

// Runs squeue. The result is empty if the job ended some minutes ago. It is an error if the controller does not respond.
Result<SlurmTasks> ask_queue(const SlurmJob& job, const IsUnwanted& is_unwanted);

}  // namespace proctor::cli
