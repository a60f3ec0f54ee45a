// What is known of a case at its end, and the event that it becomes.
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

// As the events of an attempt have it.
inline std::int64_t ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<Milliseconds>(to - from).count();
}

// The case is the open one of `cases`. `end` is the end of the process, or null if the process has gone on.
struct CaseFacts {
  const RunFiles& run_files;
  const AttemptPlan& plan;
  const AttemptFiles& files;
  const CaseTracker& cases;
  const RankReports* ranks;    // null: it has none
  const Readiness* readiness;  // null: nobody waits for it to be ready
  const EvidenceInfo& evidence;
  const StopOrder& stop;
  const std::string& result_refused;  // why its result file is not read; "": it was, or there is none
  const ProcessEnd* end;
  std::int64_t at_ms;  // since the run began
};

// All of it but diagnosis and telemetry.
AttemptEnded describe(const CaseFacts& facts);

// What people must hear of the end of a process that ran `cases`. `frozen`: how long nothing of the runner ran.
std::vector<Warning> warnings_of(const ProcessEnd& end, const CaseTracker& cases, Milliseconds frozen);

}  // namespace proctor
