// The files of an attempt: what they are called in the run directory, and those that exist only while it lasts.
#pragma once

#include <string>

#include "harness/journal/events.h"
#include "harness/plan/plan.h"
#include "harness/process/ranks/rank_plan.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/attempt/log_names.h"
#include "harness/runner/machine/scratch.h"

namespace proctor {

// Of one process. "": it has none.
struct AttemptFiles {
  std::string log{};          // in the run directory
  std::string scratch{};      // kind proctor: its working directory and TMPDIR
  std::string result_file{};  // of a kind that writes one
  std::string cases_file{};   // of a batch
  std::string rank_plan{};    // for a case with ranks, the supervisor's file
  std::string rendezvous{};   // and the directory that the ranks share
  std::string directory{};    // in which the process was started
};

// Names and makes the files of all attempts of a run. What cannot be made is a warning.
class RunFiles {
 public:
  RunFiles(const Plan& plan, const AttemptSetup& setup, ScratchRoot& scratch, EventSink& sink)
      : names_(plan), setup_(setup), scratch_(scratch), sink_(sink) {}

  // Relative to the run directory.
  std::string log_of(const AttemptCase& entry) const;
  std::string log_of(const AttemptCase& entry, int rank) const;
  std::string evidence_of(const AttemptCase& entry, const char* ending = ".txt") const;
  // The absolute path of a file in the run directory.
  std::string path_of(const std::string& file) const { return setup_.run_dir + "/" + file; }
  // Makes the directory of a file in the run directory. Who writes the file reports a failure.
  void make_way_to(const std::string& file) const;
  // `log`, if it is there; "" otherwise. One that reports name although nothing was printed is made and says so: that
  // is `is_needed`.
  std::string log_that_is_there(const std::string& log, bool is_needed) const;

  // For a process, which starts without what cannot be made.
  AttemptFiles make(const AttemptPlan& plan);
  // Adds the directory that the ranks share, and the file of their supervisor.
  void add_rank_plan(const AttemptPlan& plan, RankPlan ranks, AttemptFiles& files);
  // Call this after the process. If it is `unkillable`, it may still write to its scratch directory, which then stays.
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
