// The history of a run (`--history FILE`): checked before it, compared with its results after its last case, and given
// these results after its end.
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

// Null where there is none. A file that is missing or empty is no mistake: the first run of a project has no history.
Result<std::shared_ptr<History>> open_history(const std::string& file);

class HistoryOfRun {
 public:
  // `records`: the run is not a part of another one, which is recorded in its place.
  HistoryOfRun(std::string file, bool records) : file_(std::move(file)), records_(records) {}

  // Call it after the last case and before the end of the run. Sends CasePast events and, if the run is not green, a warning
  // about the stack. A history that cannot be read or written is a warning.
  void report_past(RunMemory& memory, Milliseconds wait, EventSink& events);
  // Call it when the journal is complete. Does nothing if report_past() warned that the history cannot be written.
  Result<void> record(const ResolvedRun& run, const std::string& journal_sha256);

 private:
  std::string file_;
  bool records_;
  std::optional<History> to_record_{};
};

// A run that is recorded twice is in the history once.
Result<void> record_run(History& history, const ResolvedRun& run, const std::string& journal_sha256);

}  // namespace proctor::runner
