// The history of one run (`--history FILE`). The run opens it before its first case, compares its results with it after
// the last case, and adds its results when the journal is complete. reports/history implements the file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "reports/history/history.h"
#include "reports/resolve/run_memory.h"

namespace proctor::runner {

// Returns null if `file` is "", missing or empty. This is not an error: the first run of a project has no history.
Result<std::shared_ptr<History>> open_history(const std::string& file);

// Compares a run with its history, and records the run. finish_run() creates it.
class HistoryOfRun {
 public:
  // `records` is false for a part of another run. The whole run is recorded instead of its parts.
  HistoryOfRun(std::string file, bool records) : file_(std::move(file)), records_(records) {}

  // Call it after the last case and before the end of the run. It sends CasePast events. If the run did not pass, it
  // also sends a warning about changes of the stack. It warns if the history cannot be read or written.
  void report_past(RunMemory& memory, Milliseconds wait, EventSink& events);
  // Call it when the journal is complete. Does nothing if report_past() warned that the history cannot be written.
  Result<void> record(const ResolvedRun& run, const std::string& journal_sha256);

 private:
  std::string file_;
  bool records_;
  std::optional<History> to_record_{};
};

// Adds the run to the history. A second call with the same run does not add it again.
Result<void> record_run(History& history, const ResolvedRun& run, const std::string& journal_sha256);

}  // namespace proctor::runner
