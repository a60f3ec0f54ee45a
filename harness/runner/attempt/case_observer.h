// Measures facts that cases do not report: kernel log lines of their time, the load of their devices, and the costs of
// their processes. RunningAttempt calls it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/devices/admission/telemetry.h"
#include "harness/journal/child_report.h"
#include "harness/journal/events.h"
#include "harness/process/containment.h"
#include "harness/process/process_spec.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/attempt/case_tracker.h"
#include "harness/runner/attempt/diagnose.h"
#include "harness/runner/attempt/start_costs.h"

namespace proctor {

class CaseObserver {
 public:
  CaseObserver(Containment& containment, const RunPlanned& planned, Telemetry& telemetry, EventSink& sink)
      : containment_(containment), planned_(planned), telemetry_(telemetry), sink_(sink) {}

  // Calls `listener` for each error of a device in the kernel log.
  void listen(Diagnoser::OnDeviceError listener) { diagnoser_.listen(std::move(listener)); }

  // Call this before the process of an attempt starts.
  struct Process {
    Diagnoser::Devices addresses;  // of the attempt's devices
    KernelLog::Position began;     // the position of its start in the kernel log
  };
  Process begin_process(const AttemptPlan& plan);
  // Call this when a case begins. The start of the process belongs to its first case.
  CaseTracker::Open begin_case(const Process& process, const AttemptPlan& plan, std::size_t which,
                               Clock::time_point now, bool is_first);

  // Call this while the case is open. If `open` is empty, the lines since the start of the process are used.
  KernelEvidence kernel_evidence(const Process& process, const std::optional<CaseTracker::Open>& open);
  // Returns the devices with their load. The load shows whether the device is busy or waits for the case.
  std::vector<std::string> devices_and_load(const AttemptPlan& plan,
                                            const std::optional<CaseTracker::Open>& open) const;

  // Diagnoses the end of the case, and reports errors of its devices. `end` is the end of the process; null: the
  // process continues.
  void diagnose(const Process& process, const AttemptPlan& plan, const CaseTracker::Open& open,
                const ProcessEnd* end, AttemptEnded& event);
  TelemetryInfo take_telemetry(const AttemptPlan& plan, const CaseTracker::Open& open,
                               const std::string& case_id, const ProcessEnd* end);
  // Adds the time that the process of one case needed outside of the case.
  void count_start(const AttemptPlan& plan, const CaseTracker::Open& open, const ChildReport& child,
                   const ProcessEnd& end);

  // Returns how long no code of this process ran (FrozenTime::take_notable()).
  Milliseconds take_frozen() { return containment_.take_frozen(); }

  // Call these after the last case.
  std::vector<DeviceError> late_device_errors() { return diagnoser_.late_device_errors(); }
  std::vector<Warning> proposals(Milliseconds run) const { return start_costs_.proposals(run); }

 private:
  Containment& containment_;
  const RunPlanned& planned_;
  Telemetry& telemetry_;
  EventSink& sink_;
  Diagnoser diagnoser_;
  StartCosts start_costs_;
};

}  // namespace proctor
