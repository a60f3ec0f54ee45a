// The runs of one shard of an array. A task that Slurm starts again runs the rest of its shard in the next directory:
//
//   shard-2/ shard-2.2/ shard-2.3/    one may have no journal: its runner was refused, or killed before it wrote one
#pragma once

#include <string>
#include <vector>

namespace proctor::cli {

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
