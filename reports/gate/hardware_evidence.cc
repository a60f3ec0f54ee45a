#include "reports/gate/hardware_evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/words.h"

namespace proctor {
namespace {

using Texts = std::vector<std::string>;

const DeviceEvidence* find(const std::vector<DeviceEvidence>& all, const std::string& id,
                           std::string_view when) {
  const auto found =
      std::ranges::find_if(all, [&](const DeviceEvidence& e) { return e.id == id && e.when == when; });
  return found != all.end() ? &*found : nullptr;
}

std::string vendor_of(const std::string& backend) { return backend == "cuda" ? "10de" : "8086"; }

Texts drivers_of(const std::string& backend) {
  return backend == "cuda" ? Texts{"nvidia"} : Texts{"xe", "i915"};
}

void check_facts(const PlannedDevice& device, const DeviceEvidence& said, Texts& missing) {
  const auto miss = [&](const std::string& what) {
    missing.push_back(fmt::format("{} (at the {})", what, said.when));
  };
  const std::pair<const char*, const std::string*> facts[] = {{"pci", &said.pci},
                                                              {"vendor", &said.vendor},
                                                              {"device", &said.device},
                                                              {"kernel_driver", &said.kernel_driver},
                                                              {"driver_file", &said.driver_file},
                                                              {"driver_build_id", &said.driver_build_id},
                                                              {"boot_id", &said.boot_id}};
  for (const auto& [name, value] : facts) {
    if (value->empty()) miss(fmt::format("{} is unknown", name));
  }
  const std::string vendor = vendor_of(device.backend);
  if (!said.vendor.empty() && said.vendor != vendor)
    miss(fmt::format("vendor is {}, and not {}", said.vendor, vendor));
  const Texts drivers = drivers_of(device.backend);
  if (!said.kernel_driver.empty() && std::ranges::find(drivers, said.kernel_driver) == drivers.end())
    miss(fmt::format("kernel_driver is {}, and not {}", said.kernel_driver, joined(drivers, " or ")));
  if (!said.pci.empty() && !device.pci.empty() && said.pci != device.pci)
    miss(fmt::format("pci is {}, and the probe found {}", said.pci, device.pci));
  if (said.simulator) miss(fmt::format("driver_file is a simulator, {}", said.driver_file));
}

void check_kept(const DeviceEvidence& start, const DeviceEvidence& end, Texts& missing) {
  const auto kept = [&](const char* name, const std::string& before, const std::string& after) {
    if (before != after)
      missing.push_back(fmt::format("{} was {} at the start, and {} at the end", name, before, after));
  };
  kept("pci", start.pci, end.pci);
  kept("kernel_driver", start.kernel_driver, end.kernel_driver);
  kept("driver_build_id", start.driver_build_id, end.driver_build_id);
  kept("boot_id", start.boot_id, end.boot_id);
}

}  // namespace

// The runner writes no such record yet.
std::vector<DeviceEvidence> hardware_evidence_of(const RunModel&) { return {}; }

std::vector<std::string> missing_evidence(const PlannedDevice& device,
                                          const std::vector<DeviceEvidence>& evidence) {
  Texts missing;
  if (device.simulated) missing.emplace_back("it is simulated");
  const DeviceEvidence* start = find(evidence, device.id, "start");
  const DeviceEvidence* end = find(evidence, device.id, "end");
  if (start == nullptr) missing.emplace_back("no evidence at the start");
  if (end == nullptr) missing.emplace_back("no evidence at the end");
  for (const DeviceEvidence* said : {start, end}) {
    if (said != nullptr) check_facts(device, *said, missing);
  }
  if (start != nullptr && end != nullptr) check_kept(*start, *end, missing);
  const bool probed = (start != nullptr && start->probed) || (end != nullptr && end->probed);
  if (!probed) missing.emplace_back("the health probe computed nothing on it in this run");
  return missing;
}

}  // namespace proctor
