// Starts the attempts of a run, and owns the objects that outlive a single attempt: the names of files, the core files,
// and the observer. The schedule calls it.
#pragma once

#include <memory>
#include <vector>

#include "harness/plan/plan.h"
#include "harness/runner/attempt/attempt.h"
#include "harness/runner/attempt/attempt_files.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/attempt/case_observer.h"
#include "harness/runner/attempt/core_files.h"
#include "harness/runner/attempt/run_events.h"
#include "harness/runner/machine/scratch.h"

namespace proctor {

class Attempts {
 public:
  // The settings that all attempts share.
  struct Basis {
    const AttemptSetup& setup;
    const Plan& plan;
    const RunPlanned& planned;  // describes the same plan
  };
  Attempts(boost::asio::io_context& io, Containment& containment, ScratchRoot& scratch, const Basis& basis,
           Telemetry& telemetry, RunEvents& events)
      : io_(io),
        containment_(containment),
        setup_(basis.setup),
        events_(events),
        files_(basis.plan, basis.setup, scratch, events),
        observer_(containment, basis.planned, telemetry, events) {}

  // `listener` must outlive the attempt.
  std::unique_ptr<RunningAttempt> start(AttemptPlan plan, AttemptListener& listener) {
    return std::make_unique<RunningAttempt>(io_, containment_, setup_, files_, cores_, observer_, events_,
                                            std::move(plan), listener);
  }

  CaseObserver& observer() { return observer_; }
  // Call it after the last attempt. Removes core files that no report names, and warns about suites that should share
  // processes.
  void end() {
    cores_.remove_others();
    for (const auto& warning : observer_.proposals(Milliseconds(events_.ms_now()))) events_.on(warning);
  }

 private:
  boost::asio::io_context& io_;
  Containment& containment_;
  const AttemptSetup& setup_;
  RunEvents& events_;
  RunFiles files_;
  CoreFiles cores_;
  CaseObserver observer_;
};

}  // namespace proctor
