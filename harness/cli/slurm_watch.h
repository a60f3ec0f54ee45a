// Waits for the array of `proctor slurm run`, and shows its shards as one run: what their cases do, by their journals;
// which tasks wait, were lost or come again, by squeue.
//
// A shard is over when its journal says that nothing is left of it, or when Slurm says that its task is. So the end of
// a good run is seen at once, however rarely squeue is asked. A controller that does not answer is no end of anything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/cli/console/console.h"
#include "harness/cli/shard_journal.h"
#include "harness/cli/slurm_client.h"
#include "harness/core/clock.h"

namespace proctor::cli {

class ArrayWatch {
 public:
  ArrayWatch(SlurmJob job, const std::string& directory, int shards, Console& console);

  // Until every shard is over. INT, TERM and HUP are blocked (hold_stop_signals()). The first of them cancels the job,
  // whose tasks then have a minute for their reports; the second leaves them to Slurm. Returns the first, or 0.
  int wait();

  const std::vector<ShardJournal>& journals() const { return journals_; }
  // What Slurm said of it last.
  SlurmTask task(int shard) const;

 private:
  bool all_over();
  bool is_over(const ShardJournal& journal);
  void read_journals();
  void ask_queue();
  void take(const SlurmTasks& tasks);
  void tell_change(int shard, const SlurmTask& before, const SlurmTask& now);
  void tell_waiting();
  void tell_controller(const std::string& silence);
  // Whether to go on.
  bool stop(int signal);
  void tell(const std::string& text);
  std::int64_t now_ms() const;

  SlurmJob job_;
  Console& console_;
  std::vector<ShardJournal> journals_;
  QueueQuestion question_;
  SlurmTasks tasks_;
  bool knows_tasks_ = false;
  std::map<int, Clock::time_point> over_since_{};  // of shards, by Slurm
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_question_ = started_;
  std::string silence_{};      // why the controller does not answer
  std::string waiting_for_{};  // the reason that was told last
  int signal_ = 0;
  Clock::time_point give_up_ = Clock::time_point::max();
  int parent_;
};

}  // namespace proctor::cli
