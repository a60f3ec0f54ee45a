// Waits for the array of `proctor slurm run`, and prints which tasks wait, were lost or are started again, as squeue
// lists them. The wait goes on while the controller does not respond.
//
// The runs of one shard of an array. A task that Slurm starts again runs the rest of its shard in the next directory:
//
//   shard-2/ shard-2.2/ shard-2.3/    one may have no journal: its runner was refused, or killed before it wrote one
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

  // Until every task is over, or every shard is complete. INT, TERM and HUP are blocked (hold_stop_signals()). The first
  // of them cancels the job, whose tasks then have a minute for their reports; the second leaves them to Slurm. Returns
  // the first, or 0.
  int wait();

  // As squeue listed it last.
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
  // False: the wait ends.
  bool stop(int signal);

  SlurmJob job_;
  std::string directory_;
  int shards_;
  SlurmTasks tasks_{};
  std::set<int> complete_{};  // shards
  bool knows_tasks_ = false;
  std::optional<Clock::time_point> over_since_{};  // all tasks
  std::string counts_{};                           // as printed last
  bool is_silent_ = false;                         // the controller
  int signal_ = 0;
  Clock::time_point started_ = Clock::now();
  Clock::time_point give_up_ = Clock::time_point::max();
  int parent_;
};

struct ShardRuns {
  int index = 1;
  std::vector<std::string> directories{};  // those whose journal has the plan, in their order
  std::vector<std::string> unreadable{};   // an error for each other journal
  bool is_complete = false;  // the last run has ended, and each case has an outcome other than notrun
};

// PARENT/shard-INDEX and so on.
ShardRuns read_shard(const std::string& parent, int index);

// True if the newest directory has its report, which a runner writes at its end.
bool has_report(const std::string& parent, int index);

}  // namespace proctor::cli
