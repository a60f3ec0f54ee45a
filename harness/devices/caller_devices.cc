#include "harness/devices/caller_devices.h"

#include <algorithm>
#include <map>

namespace proctor {
namespace {

std::string value_of(const Environment& environment, const char* name) {
  const auto it = environment.find(name);
  return it == environment.end() ? std::string() : it->second;
}

std::vector<LeasedDevice> leased_as_probed(const std::vector<Device>& devices) {
  std::vector<LeasedDevice> all;
  for (const auto& device : devices) all.push_back(to_leased(device, device.ordinal));
  // Level Zero counts tiles card by card.
  std::vector<LeasedDevice*> cards;
  for (LeasedDevice& device : all) cards.push_back(&device);
  std::ranges::sort(cards, {}, &LeasedDevice::ordinal);
  int leaf = 0;
  for (LeasedDevice* card : cards) {
    card->first_leaf = leaf;
    leaf += card->tiles;
  }
  return all;
}

CallerOrdinals xpu_ordinals(const Environment& caller, const std::optional<Hierarchy>& hierarchy,
                            const std::vector<Device>& devices) {
  const bool alike = std::all_of(devices.begin(), devices.end(), [&](const Device& device) {
    return device.device_id == devices.front().device_id && device.tiles == devices.front().tiles;
  });
  const bool one_tile =
      std::all_of(devices.begin(), devices.end(), [](const Device& d) { return d.tiles == 1; });
  const bool same_order = alike || value_in_force(kXpuOrderVariable, caller) == "1";
  // Drivers that come first, or that were added, count before those of the probe.
  const bool same_drivers =
      !caller.contains("ZEL_DRIVERS_ORDER") && !caller.contains("ZE_ENABLE_NULL_DRIVER");
  return same_order && same_drivers && (one_tile || hierarchy) ? CallerOrdinals::kSameAsProbe
                                                               : CallerOrdinals::kUnknown;
}

Result<std::vector<LeasedDevice>> narrow_xpu(const std::vector<Device>& devices, const Environment& caller) {
  const auto hierarchy = caller_hierarchy(caller);
  if (!hierarchy) return hierarchy.error();
  return narrow_pool(Backend::kXpu, leased_as_probed(devices), caller,
                     xpu_ordinals(caller, *hierarchy, devices), hierarchy->value_or(Hierarchy::kComposite));
}

bool names_devices(const std::string& cuda_mask) {
  return cuda_mask.empty() || cuda_mask.starts_with("GPU-") || cuda_mask.starts_with("MIG-");
}

// Id -> ordinal in the caller's own order; empty: nobody says.
std::map<std::string, int> query_order(Environment caller, const DeviceProbe& probe) {
  caller.erase(kCudaMaskVariable);
  const Inventory inventory = probe(caller);
  std::map<std::string, int> ordinals;
  if (!inventory.problem.empty() || !inventory.runtime_problem.empty()) return ordinals;
  for (const auto& device : inventory.devices) ordinals[device.id] = device.ordinal;
  return ordinals;
}

Result<std::vector<LeasedDevice>> narrow_cuda(const std::string& mask, const std::vector<Device>& devices,
                                              const Environment& caller, const DeviceProbe& probe) {
  auto pool = leased_as_probed(devices);
  auto known = CallerOrdinals::kSameAsProbe;
  const bool same_order = value_of(caller, kCudaOrderVariable) == kCudaPciOrder;
  if (!same_order && !names_devices(mask) && devices.size() > 1) {
    const auto ordinals = query_order(caller, probe);
    if (ordinals.empty()) known = CallerOrdinals::kUnknown;
    for (auto& device : pool) {
      if (const auto found = ordinals.find(device.id); found != ordinals.end())
        device.ordinal = found->second;
    }
  }
  auto left = narrow_pool(Backend::kCuda, pool, caller, known, Hierarchy::kComposite);
  if (!left) return left;
  // The cases count in the probe's order.
  for (auto& device : *left) {
    const auto found = std::find_if(devices.begin(), devices.end(),
                                    [&](const Device& candidate) { return candidate.id == device.id; });
    if (found != devices.end()) device.ordinal = found->ordinal;
  }
  return left;
}

}  // namespace

LeasedDevice to_leased(const Device& device, int ordinal) {
  LeasedDevice leased;
  leased.id = device.id;
  leased.uuid = device.uuid;
  leased.pci = device.pci;
  leased.ordinal = ordinal;
  leased.tiles = device.tiles;
  leased.memory_bytes = device.memory_bytes;
  return leased;
}

Result<std::vector<LeasedDevice>> caller_devices(Backend backend, const std::vector<Device>& devices,
                                                 const Environment& caller, const DeviceProbe& probe) {
  const auto mask = caller_mask(backend, caller);
  if (!mask || devices.empty()) return leased_as_probed(devices);
  if (backend == Backend::kCuda) return narrow_cuda(*mask, devices, caller, probe);
  return narrow_xpu(devices, caller);
}

}  // namespace proctor
