// Creates and checks the run directory (docs/how-to/read-a-report.md): --out DIR, or proctor-out/RUN_ID with the link
// proctor-out/latest. The steps of a run and the commands about runs call it.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

// The newest run, for commands that get no run directory.
inline constexpr const char* kLatestRun = "proctor-out/latest";

// Returns for example "20260131T120000Z-1a2b3c". Ids sort by time, with a resolution of a millisecond, and are unique.
std::string new_run_id();

// Refuses, before any program is started, a directory that is not empty or not writable. An empty `out` means the
// default. `but` is a file of this run that may already exist; "": none.
Result<void> check_run_directory(const std::string& out, const std::string& but = {});
// Checks whether `file` could be written; for --junit.
Result<void> check_output_file(const std::string& option, const std::string& file);
// Refuses a file in the directory of another run, and a file that this run writes itself. `out` is the directory of
// this run.
Result<void> check_no_other_run(const std::string& option, const std::string& file, const std::string& out);

inline constexpr int kKeptRuns = 50;

// Returns the directories of the runs in proctor-out/, newest first.
std::vector<std::string> kept_runs();

// Creates the directory with logs/ and returns its absolute path. If `out` is empty, it then removes the oldest runs in
// the default directory, so that `keep` remain with this one (0: all). It removes complete runs only, and none with
// leftovers for `proctor finish`.
Result<std::string> create_run_directory(const std::string& out, const std::string& run_id, int keep = 0);
// Creates ROOT/RUN_ID and the link ROOT/latest in the same way.
Result<std::string> create_run_directory_below(const std::string& root, const std::string& run_id, int keep);

}  // namespace proctor
