// The files of an attempt: their names in the run directory, and temporary files that exist while the attempt runs.
#pragma once

#include <string>

#include "harness/journal/events.h"
#include "harness/plan/plan.h"
#include "harness/process/ranks/rank_plan.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/attempt/log_names.h"
#include "harness/runner/machine/scratch.h"

namespace proctor {

// The files of one process. "" means that the process does not have this file.
struct AttemptFiles {
  std::string log{};          // relative to the run directory
  std::string scratch{};      // kind proctor: working directory and TMPDIR
  std::string result_file{};  // for a kind that writes a result file
  std::string cases_file{};   // for a batch: the names of its cases
  std::string rank_plan{};    // for a case with ranks: the input of the supervisor
  std::string rendezvous{};   // for a case with ranks: the directory that they share
  std::string directory{};    // the directory in which the process was started
};

// Names and creates the files of all attempts of a run. A file that cannot be created causes a warning.
class RunFiles {
 public:
  RunFiles(const Plan& plan, const AttemptSetup& setup, ScratchRoot& scratch, EventSink& sink)
      : names_(plan), setup_(setup), scratch_(scratch), sink_(sink) {}

  // These paths are relative to the run directory.
  std::string log_of(const AttemptCase& entry) const;
  std::string log_of(const AttemptCase& entry, int rank) const;
  std::string evidence_of(const AttemptCase& entry, const char* ending = ".txt") const;
  // The absolute path of a file in the run directory.
  std::string path_of(const std::string& file) const { return setup_.run_dir + "/" + file; }
  // Creates the parent directory of a file in the run directory. It reports no failure; the writer of the file does.
  void make_way_to(const std::string& file) const;
  // Returns `log` if the file exists, otherwise "". If the log `is_needed` because reports name it, a missing log is
  // created. It then contains a line that nothing was printed.
  std::string log_that_is_there(const std::string& log, bool is_needed) const;

  // Creates the files of one process. The process starts also if a file cannot be created.
  AttemptFiles make(const AttemptPlan& plan);
  // Creates the directory that the ranks share, and the file of their supervisor.
  void add_rank_plan(const AttemptPlan& plan, RankPlan ranks, AttemptFiles& files);
  // Call this after the end of the process. An `unkillable` process may still write to its scratch directory, which
  // then stays.
  void remove(const AttemptPlan& plan, const AttemptFiles& files, bool unkillable);

 private:
  std::string stem_of(const AttemptCase& entry) const;
  std::string write_cases(const AttemptPlan& plan);

  LogNames names_;
  const AttemptSetup& setup_;
  ScratchRoot& scratch_;
  EventSink& sink_;
};

}  // namespace proctor
