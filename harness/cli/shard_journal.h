// What a shard says in its journals while others write them, perhaps on another machine: read without a lock, and only
// what was appended. A task that Slurm had started again goes on with the rest of its cases in the next directory:
//
//   shard-2/ shard-2.2/ shard-2.3/    one may have no journal: its runner was refused, or killed before it wrote one
//
// A record that is not complete is read when it is. Of a last one that never will be, the next journal knows no more.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/events.h"

namespace proctor::cli {

class ShardJournal {
 public:
  using OnEvent = std::function<void(const Event& event)>;

  // The directories are PARENT/shard-INDEX, ...
  ShardJournal(std::string parent, int index);

  // Passes on the new records about cases, and warnings: each end of a case once, and none that leaves it to be run.
  // `now_ms` replaces the time of an attempt's start, since the clocks of machines differ. Its log is named relative to
  // PARENT.
  void read(std::int64_t now_ms, const OnEvent& on_event);

  int index() const { return index_; }
  bool has_begun() const { return has_plan_; }
  // The run of its last journal has come to its end.
  bool has_ended() const { return has_ended_; }
  // Every case has an outcome, and none is left to be run.
  bool is_complete() const { return has_ended_ && left_.empty(); }
  std::size_t left() const { return left_.size(); }
  // Those whose journal has its first record, the plan.
  const std::vector<std::string>& directories() const { return directories_; }

 private:
  std::string directory(int number) const;
  // Goes to the newest directory that has a journal.
  void find_newest(const OnEvent& on_event);
  void take(std::string_view line, std::int64_t now_ms, const OnEvent& on_event);
  void take(Event event, std::int64_t now_ms, const OnEvent& on_event);
  void end_running(const OnEvent& on_event);

  std::string parent_;
  int index_;
  int number_ = 0;  // of the directory that is read; 0: none has a journal
  std::vector<std::string> directories_;
  std::uint64_t offset_ = 0;
  std::string open_line_;
  bool has_plan_ = false;
  bool has_ended_ = false;
  std::set<std::string, std::less<>> left_;
  std::set<std::string> running_;
};

}  // namespace proctor::cli
