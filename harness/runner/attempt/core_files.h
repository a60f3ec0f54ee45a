// The cores that the processes of a run may leave. The kernel writes them beside what the program works on, so the run
// removes those of which nobody is told: those of processes below the one that answers for a case, as in a death test.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "harness/journal/events.h"
#include "harness/process/evidence/core_file.h"
#include "harness/runner/attempt/core_budget.h"

namespace proctor {

class CoreFiles {
 public:
  const CorePattern& pattern() const { return pattern_; }

  // How large a core a process in that directory may leave (ProcessSpec::core_limit).
  std::uint64_t allow_in(const std::string& directory);
  // A case has ended whose processes had that id, the run's with a number behind it.
  void ended(const std::string& containment_id);
  // The core of that process stays: it is kept, or its place is told.
  void answered(const std::string& containment_id, int pid) { answered_.emplace(containment_id, pid); }
  // An attempt of the case has ended and left this core, if any. The core of an earlier one is removed (ResolvedRun shows none).
  void keep(const std::string& run_dir, const std::string& case_id, const CoreInfo& core);
  // After the last process of the run.
  void remove_others() const;

  CoreBudget budget{};

 private:
  CorePattern pattern_ = read_core_pattern();
  bool are_forbidden_ = read_core_limit().soft == 0;  // without us there were none
  std::int64_t since_ = std::time(nullptr) - 1;       // the clock of a file system is coarser
  std::string ids_of_run_;                            // as they all begin
  std::set<std::string> globs_;
  std::set<std::pair<std::string, int>> answered_;
  std::map<std::string, CoreInfo> kept_;  // by case
};

}  // namespace proctor
