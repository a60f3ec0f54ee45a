#include "harness/runner/attempt/case_observer.h"

#include <fmt/format.h>

#include <chrono>

#include "harness/classify/culprit.h"

namespace proctor {
namespace {

// Returns the run time of the case itself, or nothing if it was not reported.
std::optional<Milliseconds> own_duration(const CaseTracker::Open& open, const ChildReport& child) {
  if (child.took()) return child.took();
  const Clock::time_point began{std::chrono::nanoseconds(child.start_ns())};  // by a clock that we share
  const auto start = child.start_ns() > 0 ? began : open.start_reported;
  if (!start || !open.reported || *start > *open.reported) return std::nullopt;
  return std::chrono::duration_cast<Milliseconds>(*open.reported - *start);
}

}  // namespace

CaseObserver::Process CaseObserver::begin_process(const AttemptPlan& plan) {
  return {.addresses = diagnoser_.devices_in(plan.environment.variables), .began = diagnoser_.position()};
}

CaseTracker::Open CaseObserver::begin_case(const Process& process, const AttemptPlan& plan, std::size_t which,
                                           Clock::time_point now, bool is_first) {
  return {.which = which,
          .started = now,
          .kernel_position = is_first ? process.began : diagnoser_.position(),
          .telemetry = telemetry_.begin(plan.devices)};
}

KernelEvidence CaseObserver::kernel_evidence(const Process& process,
                                             const std::optional<CaseTracker::Open>& open) {
  return diagnoser_.evidence(open ? open->kernel_position : process.began, process.addresses);
}

std::vector<std::string> CaseObserver::devices_and_load(const AttemptPlan& plan,
                                                        const std::optional<CaseTracker::Open>& open) const {
  std::vector<std::string> described = plan.devices;
  if (!open) return described;
  for (auto& device : described) {
    if (const auto busy = telemetry_.utilisation(open->telemetry, device))
      device += fmt::format(" ({:.0f} % busy)", *busy);
  }
  return described;
}

void CaseObserver::diagnose(const Process& process, const AttemptPlan& plan, const CaseTracker::Open& open,
                            const ProcessEnd* end, AttemptEnded& event) {
  diagnoser_.judge(open.kernel_position, process.addresses, event, sink_, end ? end->usage.oom_kills : 0);
  if (event.diagnosis)
    event.diagnosis->culprit = culprit_of(*event.diagnosis, {.run = planned_,
                                                             .suite = plan.suite->name,
                                                             .kind = plan.kind().name(),
                                                             .backend = to_string(plan.suite->backend),
                                                             .devices = plan.devices,
                                                             .properties = event.properties});
  diagnoser_.report_device_errors(open.kernel_position, process.addresses, event);
}

TelemetryInfo CaseObserver::take_telemetry(const AttemptPlan& plan, const CaseTracker::Open& open,
                                           const std::string& case_id, const ProcessEnd* end) {
  return {.host = host_figures(end ? end->usage : HostUsage(), plan.is_batch()),
          .devices = telemetry_.end(open.telemetry, case_id)};
}

void CaseObserver::count_start(const AttemptPlan& plan, const CaseTracker::Open& open,
                               const ChildReport& child, const ProcessEnd& end) {
  if (plan.is_batch() || end.cause != EndCause::kExited) return;
  if (const auto own = own_duration(open, child))
    start_costs_.add(*plan.suite, std::chrono::duration_cast<Milliseconds>(end.leader_ended - end.started),
                     *own);
}

}  // namespace proctor
