// The run directory (docs/how-to/read-a-report.md): --out DIR, or proctor-out/RUN_ID with the link
// proctor-out/latest.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

// The newest run, of a command that names none.
inline constexpr const char* kLatestRun = "proctor-out/latest";

// "20260131T120000Z-1a2b3c": sorts by time, to the millisecond, and no two runs share it.
std::string new_run_id();

// Refuses, before anything is started, a directory that is not empty or cannot be written. An empty `out`
// stands for the default. `but`: a file that may be there, as it is the run's own; "": none.
Result<void> check_run_directory(const std::string& out, const std::string& but = {});
// Whether a file could be written there; for --junit.
Result<void> check_output_file(const std::string& option, const std::string& file);
// Refuses a file that another run has written, or that lies among those. `out`: the directory of this run.
Result<void> check_no_other_run(const std::string& option, const std::string& file, const std::string& out);

inline constexpr int kKeptRuns = 50;

// The directories of the runs in proctor-out/, newest first.
std::vector<std::string> kept_runs();

// Creates it with logs/ and returns its absolute path. Without `out`, of the runs beside it the oldest are removed, so
// that `keep` stay with this one (0: all): finished ones alone, and none that a `proctor finish` has to come for.
Result<std::string> create_run_directory(const std::string& out, const std::string& run_id, int keep = 0);
// The same as ROOT/RUN_ID, with the link ROOT/latest.
Result<std::string> create_run_directory_below(const std::string& root, const std::string& run_id, int keep);

}  // namespace proctor
