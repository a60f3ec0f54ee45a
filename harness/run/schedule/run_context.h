// What the parts of a running plan share, and how far the run has been stopped (runner.h has the states).
#pragma once

#include <optional>
#include <string>

#include "harness/devices/leases/device_pool.h"
#include "harness/run/attempt/attempt_plan.h"
#include "harness/run/attempt/case_group.h"
#include "harness/run/care/device_visits.h"
#include "harness/run/schedule/case_ends.h"
#include "harness/run/schedule/pending_cases.h"
#include "harness/run/schedule/run_setup.h"
#include "harness/run/schedule/verification_time.h"

namespace proctor {

// A stop from outside must leave time for the reports: CI services kill a job seconds after they asked.
constexpr Milliseconds kStopGrace{3'500};

struct RunContext {
  const RunSetup& setup;
  EventSink& sink;
  AttemptContext& attempts;
  DevicePool& pool;
  PendingCases& pending;
  CaseEnds& ends;
  DeviceVisits& visits;
  VerificationTime& verification;

  // Set by RunStop alone.
  std::optional<CaseGroup::NoMore> finishing = {};  // set: nothing new starts
  bool journal_is_full = false;                     // with `finishing`: no case goes on to its next attempt
  bool stopping = false;                            // what runs is ended
  std::optional<int> stop_signal = {};              // the first one

  const Case& test(std::size_t index) const { return setup.plan->cases[index]; }
  const Suite& suite(std::size_t index) const { return setup.plan->suites[test(index).suite]; }
  Reason why_stopped() const { return stop_signal ? Reason::kInterrupted : Reason::kBudget; }
  void drop_pending(const CaseGroup::NoMore& why) const { ends.announce(pending.drop(why)); }
};

}  // namespace proctor
