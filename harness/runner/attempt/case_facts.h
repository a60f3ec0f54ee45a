// Converts the facts about a case at its end to the event AttemptEnded. RunningAttempt calls it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/journal/events.h"
#include "harness/journal/outcome.h"
#include "harness/process/process_spec.h"
#include "harness/runner/attempt/attempt_files.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/attempt/case_tracker.h"
#include "harness/runner/attempt/rank_reports.h"
#include "harness/runner/attempt/readiness.h"
#include "harness/runner/attempt/stop_order.h"

namespace proctor {

// Returns the time between two points in ms, the unit of the events.
inline std::int64_t ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<Milliseconds>(to - from).count();
}

// The case is the open case of `cases`. `end` is the end of the process, or null if the process continues.
struct CaseFacts {
  const RunFiles& run_files;
  const AttemptPlan& plan;
  const AttemptFiles& files;
  const CaseTracker& cases;
  const RankReports* ranks;    // null: the case has no ranks
  const Readiness* readiness;  // null: the case does not become ready
  const EvidenceInfo& evidence;
  const StopOrder& stop;
  const std::string& result_refused;  // why its result file was not read; "": it was read, or does not exist
  const ProcessEnd* end;
  std::int64_t at_ms;  // since the start of the run
};

// Fills in all members except diagnosis and telemetry.
AttemptEnded describe(const CaseFacts& facts);

// Returns warnings about the end of a process that ran `cases`. `frozen` is the time in which the runner did not run.
std::vector<Warning> warnings_of(const ProcessEnd& end, const CaseTracker& cases, Milliseconds frozen);

}  // namespace proctor
