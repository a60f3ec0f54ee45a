// The commands of Slurm that `proctor slurm run` uses: sbatch, squeue and scancel. None of them is waited for without a
// limit: where the controller is away, squeue tries for 18 s before it says so (22.05).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/child_process.h"
#include "harness/core/clock.h"
#include "harness/core/result.h"
#include "harness/core/unique_fd.h"

namespace proctor::cli {

struct SlurmJob {
  std::string id{};       // of the array: "4711"
  std::string cluster{};  // "": the only one
};

// What `sbatch --parsable` prints: "4711" or "4711;cluster".
Result<SlurmJob> parse_job(std::string_view output);

// A usage error if sbatch is not there or refuses the options; a system error if its controller does not answer, or if
// it prints no job.
Result<SlurmJob> submit_job(const std::vector<std::string>& sbatch_line);

// scancel. The tasks that run are sent TERM, and 30 s later KILL (KillWait).
Result<void> cancel_job(const SlurmJob& job);

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

// Asks squeue about a job without waiting for it.
class QueueQuestion {
 public:
  explicit QueueQuestion(const SlurmJob& job) : job_(job) {}

  bool is_open() const { return child_.has_value(); }
  // Nothing while one is open, or where squeue cannot be started.
  Result<void> ask();
  // The answer, once; nullopt: there is none yet. A job that Slurm has forgotten is over: the answer is empty. Error:
  // the controller does not answer.
  std::optional<Result<SlurmTasks>> answer();

 private:
  Result<SlurmTasks> read(const ChildEnd& end) const;

  SlurmJob job_;
  std::optional<ChildProcess> child_;
  UniqueFd output_;
  UniqueFd errors_;
  Clock::time_point deadline_;
};

}  // namespace proctor::cli
