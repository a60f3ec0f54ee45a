// What a shell's user asks of a run that goes on: Ctrl-Z, and what its cases are doing (SIGUSR1).
#pragma once

#include <memory>

#include "harness/process/contained_process.h"
#include "harness/run/attempt/attempt_plan.h"
#include "harness/run/schedule/running_group.h"
#include "harness/run/schedule/signals.h"

namespace proctor {

class JobControl {
 public:
  JobControl(AttemptContext& context, RunningGroups& groups);

  // No limit counts the time until `fg` (process/frozen_time.h).
  void suspend(JobSignals::Who who);
  // Ends what is still asked.
  void end();

 private:
  void dump();

  AttemptContext& context_;
  RunningGroups& groups_;
  JobSignals signals_;
  std::shared_ptr<ContainedProcess> dump_;
};

}  // namespace proctor
