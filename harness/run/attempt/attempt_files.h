// The files of an attempt: what they are called in the run directory, and those that exist only while it lasts.
#pragma once

#include <string>

#include "harness/core/events.h"
#include "harness/run/attempt/attempt_plan.h"

namespace proctor {

// Relative to the run directory.
std::string log_of(const LogNames& names, const AttemptCase& entry);
std::string log_of(const LogNames& names, const AttemptCase& entry, int rank);
std::string evidence_of(const LogNames& names, const AttemptCase& entry, const char* ending = ".txt");

// `log`, if it is there; "" otherwise. One that reports name although nothing was printed is made and says so: that
// is `is_needed`.
std::string log_that_is_there(const std::string& run_dir, const std::string& log, bool is_needed);

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

// What cannot be made is a warning, and the process starts without.
AttemptFiles make_files(AttemptContext& context, const AttemptPlan& plan);
// Call this after the process. If it is `unreapable`, it may still write to its scratch directory, which then stays.
void remove_files(AttemptContext& context, const AttemptPlan& plan, const AttemptFiles& files,
                  bool unreapable);

}  // namespace proctor
