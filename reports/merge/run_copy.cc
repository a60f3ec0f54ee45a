#include "reports/merge/run_copy.h"

#include <fmt/core.h>

#include "harness/journal/containment_layer.h"

namespace proctor {
namespace {

// One that is not known promises nothing.
Layer layer_of(const ContainmentInfo& info) { return parse_layer(info.layer).value_or(kAllLayers.back()); }

}  // namespace

void RunCopy::copy_attempts(const ResolvedCase& test, int before, std::vector<Event>& out) const {
  for (const Attempt& attempt : test.attempts) {
    AttemptStarted start = attempt.start;
    start.case_id = test.planned.id;
    start.environment = attempt.environment();
    start.attempt += before;
    start.at_ms += origin_.later_ms;
    for (std::string& id : start.devices) id = device(id);
    move_below(start.log);
    out.emplace_back(std::move(start));
    if (!attempt.end) continue;
    AttemptEnded end = *attempt.end;
    end.case_id = test.planned.id;
    end.output.log = attempt.start.log;
    end.telemetry = attempt.telemetry();
    end.attempt += before;
    end.at_ms += origin_.later_ms;
    move_below(end.output.log);
    move_below(end.evidence.file);
    move_below(end.evidence.core.file);
    for (DeviceTelemetry& telemetry : end.telemetry.devices) telemetry.device = device(telemetry.device);
    out.emplace_back(std::move(end));
  }
}

CaseEnded RunCopy::end_of(const ResolvedCase& test) const {
  CaseEnded end = test.end.value_or(CaseEnded{{}, {}, {}, "", ""});
  end.case_id = test.planned.id;
  end.verdict = test.verdict;
  return end;
}

void RunCopy::copy_health(std::vector<Event>& out) const {
  for (DeviceHealth health : run_.health) {
    health.device = device(health.device);
    health.at_ms += origin_.later_ms;
    out.emplace_back(std::move(health));
  }
}

void RunCopy::copy_hardware(std::vector<Event>& out) const {
  for (HardwareEvidence evidence : run_.hardware) {
    evidence.id = device(evidence.id);
    evidence.at_ms += origin_.later_ms;
    out.emplace_back(std::move(evidence));
  }
}

std::string RunCopy::cut_short() const {
  if (run_.stop_signal != 0) return fmt::format("it was stopped by signal {}", run_.stop_signal);
  if (run_.stop) return "it was stopped: " + run_.stop->reason.text();
  return run_.ended ? "" : "its runner was killed";
}

void add_lack_of_devices(const RunPlanned& part, RunPlanned& whole) {
  for (const std::string& vendor : part.vendors_here) {
    if (std::ranges::find(whole.vendors_here, vendor) == whole.vendors_here.end())
      whole.vendors_here.push_back(vendor);
  }
  if (whole.rules.fail_on_skip.empty() || part.rules.fail_on_skip == "*")
    whole.rules.fail_on_skip = part.rules.fail_on_skip;
  const bool says_more =
      whole.no_device_for.empty() || (whole.rules.allow_no_device && !part.rules.allow_no_device);
  if (part.no_device_for.empty() || !says_more) return;
  whole.no_device_for = part.no_device_for;
  whole.no_device_by = part.no_device_by;
  whole.rules.allow_no_device = part.rules.allow_no_device;
}

bool is_weaker(const ContainmentInfo& one, const ContainmentInfo& other) {
  return layer_of(one) > layer_of(other);  // best first
}

}  // namespace proctor
