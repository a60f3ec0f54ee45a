// Waits for the array of `proctor slurm run`. It prints which tasks are waiting, lost or restarted, as squeue lists
// them. The wait continues while the controller does not respond.
//
// The file also reads the runs of one shard. A task that Slurm restarts runs the remaining cases of its shard in the
// next directory:
//
//   shard-2/ shard-2.2/ shard-2.3/    a directory may lack a journal: its runner was refused or killed early
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/cli/slurm_client.h"

namespace proctor::cli {

class ArrayWatch {
 public:
  ArrayWatch(SlurmJob job, std::string directory, int shards);

  // Waits until every task is over or every shard is complete. INT, TERM and HUP must be blocked (hold_stop_signals()).
  // The first of these signals cancels the job, and its tasks then have a minute to write reports. The second one ends
  // the wait and leaves the tasks to Slurm. Returns the first signal, or 0.
  int wait();

  // Returns the last row of squeue for the task.
  SlurmTask task(int shard) const;

 private:
  bool is_over() const;
  bool is_complete();
  bool has_all_reports() const;
  Milliseconds pause() const;
  void ask();
  void take(const SlurmTasks& tasks);
  void report_change(int shard, const SlurmTask& before, const SlurmTask& now) const;
  void report_counts();
  // Handles a stop signal. Returns false if the wait ends.
  bool stop(int signal);

  SlurmJob job_;
  std::string directory_;
  int shards_;
  SlurmTasks tasks_{};
  std::set<int> complete_{};  // complete shards
  bool knows_tasks_ = false;
  std::optional<Clock::time_point> over_since_{};  // time since when all tasks are over
  std::string counts_{};                           // last printed counts
  bool is_silent_ = false;                         // true while the controller does not respond
  int signal_ = 0;
  Clock::time_point started_ = Clock::now();
  Clock::time_point give_up_ = Clock::time_point::max();
  int parent_;
};

struct ShardRuns {
  int index = 1;
  std::vector<std::string> directories{};  // directories whose journal has the plan, in order
  std::vector<std::string> unreadable{};   // an error for each other journal
  bool is_complete = false;  // true if the last run has ended and each case has an outcome other than notrun
};

// Reads PARENT/shard-INDEX and the directories of its restarts.
ShardRuns read_shard(const std::string& parent, int index);

// Returns true if the newest directory has a report, which a runner writes at its end.
bool has_report(const std::string& parent, int index);

}  // namespace proctor::cli
