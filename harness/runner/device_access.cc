#include "harness/runner/device_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/backend.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::runner {
namespace {

constexpr Backend kWithDevices[] = {Backend::kXpu, Backend::kCuda};

Warning warning_about(const std::string& what, const HostFinding& finding) {
  return {WarningCode::kDeviceAccess, fmt::format("{} ({}): {}", what, finding.check, to_sentence(finding))};
}

bool is_loss(const DeviceHealth& health) {
  return health.what == HealthFact::kLost || health.what == HealthFact::kProbeFailed ||
         health.what == HealthFact::kDrained;
}

bool is_in_trouble(const ResolvedRun& run, std::string_view backend) {
  const auto is_of_backend = [&](const DeviceHealth& health) {
    const auto device = std::ranges::find(run.plan.devices, health.device, &PlannedDevice::id);
    return device != run.plan.devices.end() && device->backend == backend;
  };
  return std::ranges::any_of(run.health,
                             [&](const auto& health) { return is_loss(health) && is_of_backend(health); }) ||
         std::ranges::any_of(run.cases, [&](const ResolvedCase& test) {
           const bool skipped = test.verdict.outcome == Outcome::kSkip;  // the case found no device
           return test.planned.backend == backend && test.planned.devices > 0 && (skipped || test.bad);
         });
}

}  // namespace

DeviceAccess::DeviceAccess(std::string root, std::string library_path)
    : root_(std::move(root)), library_path_(std::move(library_path)) {
  for (const Backend backend : kWithDevices) {
    for (const HostFinding& finding : faults(backend)) before_.insert(to_sentence(finding));
  }
}

HostFindings DeviceAccess::faults(Backend backend) const {
  const auto host = read_host(root_, library_path_, {});
  return host ? find_access_faults(*host, backend) : HostFindings();
}

HostFindings DeviceAccess::new_faults(Backend backend) const {
  HostFindings found = faults(backend);
  std::erase_if(found, [&](const HostFinding& finding) { return before_.contains(to_sentence(finding)); });
  return found;
}

std::vector<Warning> DeviceAccess::why_missing(Backend backend) const {
  std::vector<Warning> warnings;
  for (const HostFinding& finding : faults(backend))
    warnings.push_back(warning_about(fmt::format("{} devices are missing", to_string(backend)), finding));
  return warnings;
}

std::string DeviceAccess::why_lost(const std::string& backend) const {
  const auto known = parse_backend(backend);
  const HostFindings found = known ? new_faults(*known) : HostFindings();
  return found.empty() ? std::string() : to_sentence(found.front());
}

std::vector<Warning> DeviceAccess::why_lost(const ResolvedRun& run) const {
  std::vector<Warning> warnings;
  for (const Backend backend : kWithDevices) {
    if (!is_in_trouble(run, to_string(backend))) continue;
    for (const HostFinding& finding : new_faults(backend)) {
      warnings.push_back(warning_about(
          fmt::format("access to {} devices was lost during the run", to_string(backend)), finding));
    }
  }
  return warnings;
}

}  // namespace proctor::runner
