// Keeps and removes the core files of a run. The kernel may write a core into the working directory of the program. The
// run removes cores that no report names, for example the core of a death test, where a child process crashes.
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

  // Returns the size of a core that a process in this directory may leave (ProcessSpec::core_limit).
  std::uint64_t allow_in(const std::string& directory);
  // A case has ended. Its processes had the containment id of the run, with a number appended.
  void ended(const std::string& containment_id);
  // The core of this process stays, because it is kept or a report names its place.
  void answered(const std::string& containment_id, int pid) { answered_.emplace(containment_id, pid); }
  // An attempt of the case has ended and left this core, if any. Removes the core of the attempt before (ResolvedRun
  // shows only the last one).
  void keep(const std::string& run_dir, const std::string& case_id, const CoreInfo& core);
  // Call this after the last process of the run. Removes the other cores.
  void remove_others() const;

  CoreBudget budget{};

 private:
  CorePattern pattern_ = read_core_pattern();
  bool are_forbidden_ =
      read_core_limit().soft == 0;  // the run raised the core limit, so the caller expects no cores
  std::int64_t since_ = std::time(nullptr) - 1;  // file systems have a coarser clock
  std::string ids_of_run_;                       // the common prefix of the containment ids
  std::set<std::string> globs_;
  std::set<std::pair<std::string, int>> answered_;
  std::map<std::string, CoreInfo> kept_;  // by case
};

}  // namespace proctor
