#include "reports/gate/hardware_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/words.h"

namespace proctor {
namespace {

using Texts = std::vector<std::string>;

const HardwareEvidence* find(const std::vector<HardwareEvidence>& all, const std::string& id,
                             std::string_view when) {
  const auto found =
      std::ranges::find_if(all, [&](const HardwareEvidence& e) { return e.id == id && e.when == when; });
  return found != all.end() ? &*found : nullptr;
}

Texts drivers_of(const std::string& backend) {
  return backend == "cuda" ? Texts{"nvidia"} : Texts{"xe", "i915"};
}

// Why the fact is not known, as the runner said it: "kernel_driver: none is bound".
std::string gap_of(const HardwareEvidence& said, const std::string& fact) {
  const auto gap =
      std::ranges::find_if(said.gaps, [&](const std::string& text) { return text.starts_with(fact + ": "); });
  return gap != said.gaps.end() ? *gap : fact + " is unknown";
}

constexpr std::pair<const char*, std::string HardwareEvidence::*> kFacts[] = {
    {"pci", &HardwareEvidence::pci},
    {"vendor", &HardwareEvidence::vendor},
    {"device", &HardwareEvidence::device},
    {"kernel_driver", &HardwareEvidence::kernel_driver},
    {"driver_file", &HardwareEvidence::driver_file},
    {"driver_build_id", &HardwareEvidence::driver_build_id},
    {"boot_id", &HardwareEvidence::boot_id}};

void check_facts(const PlannedDevice& device, const HardwareEvidence& said, Texts& missing) {
  const auto miss = [&](const std::string& what) {
    missing.push_back(fmt::format("{} (at the {})", what, said.when));
  };
  for (const auto& [name, fact] : kFacts) {
    if ((said.*fact).empty()) miss(gap_of(said, name));
  }
  const std::string vendor = device.backend == "cuda" ? "10de" : "8086";
  if (!said.vendor.empty() && said.vendor != vendor)
    miss(fmt::format("vendor is {}, and not {}", said.vendor, vendor));
  const Texts drivers = drivers_of(device.backend);
  if (!said.kernel_driver.empty() && std::ranges::find(drivers, said.kernel_driver) == drivers.end())
    miss(fmt::format("kernel_driver is {}, and not {}", said.kernel_driver, joined(drivers, " or ")));
  if (!said.pci.empty() && said.pci != device.pci)
    miss(fmt::format("pci is {}, and the probe found {}", said.pci, device.pci));
  if (said.simulator) miss(fmt::format("driver_file is a simulator, {}", said.driver_file));
}

void check_kept(const HardwareEvidence& start, const HardwareEvidence& end, Texts& missing) {
  for (const auto& [name, fact] : kFacts) {
    if (start.*fact != end.*fact)
      missing.push_back(
          fmt::format("{} was {} at the start, and {} at the end", name, start.*fact, end.*fact));
  }
}

}  // namespace

std::vector<std::string> missing_evidence(const PlannedDevice& device,
                                          const std::vector<HardwareEvidence>& evidence, bool probed) {
  Texts missing;
  if (device.simulated) missing.emplace_back("it is simulated");
  const HardwareEvidence* start = find(evidence, device.id, "start");
  const HardwareEvidence* end = find(evidence, device.id, "end");
  if (start == nullptr) missing.emplace_back("no evidence at the start");
  if (end == nullptr) missing.emplace_back("no evidence at the end");
  for (const HardwareEvidence* said : {start, end}) {
    if (said != nullptr) check_facts(device, *said, missing);
  }
  if (start != nullptr && end != nullptr) check_kept(*start, *end, missing);
  if (!probed) missing.emplace_back("no health probe passed on it in this run (`run --prove-devices`)");
  return missing;
}

}  // namespace proctor
