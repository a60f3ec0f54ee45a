#include "harness/runner/machine/device_shortage.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace proctor {

std::vector<DeviceShortage> device_shortages(const Plan& plan, const FoundDevices& devices,
                                             const AskedDevices& asked) {
  std::vector<DeviceShortage> shortages;
  if (!asked.backend && !asked.count) return shortages;
  const int count = std::max(asked.count.value_or(1), 1);
  const DevicePool pool(devices.pool);
  std::set<std::string> seen;
  for (const Case& test : plan.cases) {
    const std::string backend(to_string(plan.suites[test.suite].backend));
    if (test.devices == 0 || !seen.insert(backend).second || pool.can_ever_lease(backend, count)) continue;
    const int present = pool.width(backend).value_or(0);
    const auto why = devices.unusable.find(backend);
    shortages.push_back({.backend = backend,
                         .asked = count,
                         .present = present,
                         .why = why != devices.unusable.end() ? why->second
                                : present == 0                ? ReasonText(Reason::kNoDevice).text()
                                                              : ""});
  }
  return shortages;
}

std::string requested(const DeviceShortage& shortage) {
  return fmt::format("{} {}{}device{} requested", shortage.asked, shortage.backend,
                     shortage.backend.empty() ? "" : " ", shortage.asked == 1 ? "" : "s");
}

std::string to_string(const DeviceShortage& shortage) {
  return fmt::format("{}, {} present{}", requested(shortage), shortage.present,
                     shortage.why.empty() ? "" : " (" + shortage.why + ")");
}

}  // namespace proctor
