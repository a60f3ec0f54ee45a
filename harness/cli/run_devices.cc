#include "harness/cli/run_devices.h"

#include <algorithm>

#include "harness/cli/ctest_resources.h"
#include "harness/core/child_protocol.h"
#include "harness/devices/inventory.h"

namespace proctor::cli {
namespace {

constexpr const char* kXpu = "xpu";
constexpr const char* kPciOrderVariable = "ZE_ENABLE_PCI_ID_DEVICE_ORDER";

bool uses(const Plan& plan, Backend backend) {
  return std::any_of(plan.cases.begin(), plan.cases.end(),
                     [&](const Case& test) { return plan.suites[test.suite].backend == backend; });
}

std::string value_of(const Environment& environment, const std::string& name) {
  const auto it = environment.find(name);
  return it == environment.end() ? std::string() : it->second;
}

LeasedDevice to_leased(const Device& device, int ordinal) {
  LeasedDevice leased;
  leased.id = device.id;
  leased.uuid = device.uuid;
  leased.pci = device.pci;
  leased.ordinal = ordinal;
  leased.tiles = device.tiles;
  return leased;
}

Environment unmasked(Environment environment) {
  unmask_xpu(environment, Hierarchy::kComposite);
  return environment;
}

// Intel's driver builds its topology in each process: nothing to lease, and known without asking. simgpu's
// cards are one machine for all processes, found and leased like real ones.
void add_simulated(const Simulation& simulation, Containment& containment, const Environment& caller,
                   RunDevices& devices) {
  const bool intel = simulation.driver.kind == SimDriverKind::kIntel;
  devices.simulation = intel ? intel_environment(equal_cards(simulation.topology), simulation.driver,
                                                 value_of(caller, "LD_LIBRARY_PATH"))
                             : simgpu_environment(simulation.topology, simulator_directories());
  Inventory inventory;
  if (devices.simulation->missing.empty()) {
    ProbeOptions options;
    // The caller's mask is about the real machine.
    options.env = to_list(unmasked(caller));
    inventory = probe_simulated_xpu(containment, simulation, options);
    devices.probe_env = options.env;
  } else {
    inventory.problem = devices.simulation->missing;
  }
  devices.stack = inventory.stack;
  if (intel) devices.lacking[kXpu] = {child::kExecutionNeed, child::kManagementNeed};
  for (const auto& device : intel ? simulated_devices(simulation) : inventory.devices) {
    devices.pool.push_back({.device = to_planned(device), .shared = intel});
    devices.leasable.push_back(to_leased(device, static_cast<int>(devices.leasable.size())));
    if (!intel) devices.probed.push_back(device.id);
  }
  if (inventory.problem.starts_with("library_missing:")) {
    devices.unusable[kXpu] = inventory.problem;
  } else if (!inventory.problem.empty()) {
    devices.warnings.push_back(
        {"probe", "the simulated devices cannot be probed: " + inventory.problem +
                      (inventory.detail.empty() ? "" : " (" + inventory.detail + ")")});
  }
}

CallerOrdinals caller_ordinals(const Environment& caller, const std::vector<Device>& devices) {
  const bool alike = std::all_of(devices.begin(), devices.end(), [&](const Device& device) {
    return device.device_id == devices.front().device_id && device.tiles == devices.front().tiles;
  });
  const bool one_tile =
      std::all_of(devices.begin(), devices.end(), [](const Device& d) { return d.tiles == 1; });
  const bool same_order = alike || value_of(caller, kPciOrderVariable) == "1";
  const bool same_hierarchy =
      one_tile || value_of(caller, kXpuHierarchyVariable) == to_string(Hierarchy::kComposite);
  return same_order && same_hierarchy ? CallerOrdinals::kSameAsProbe : CallerOrdinals::kUnknown;
}

Result<void> add_real(Containment& containment, const Environment& caller, RunDevices& devices) {
  ProbeOptions options;
  // Without the caller's mask, under the variables that the cases will get: ordinals must mean the same to
  // both.
  options.env = to_list(unmasked(caller));
  const Inventory inventory = probe_xpu(containment, options);
  devices.stack = inventory.stack;
  devices.probe_env = options.env;
  for (const auto& device : inventory.devices) devices.probed.push_back(device.id);
  if (!inventory.problem.empty()) {
    devices.warnings.push_back(
        {"probe", "no XPU device can be used: " + inventory.problem +
                      (inventory.detail.empty() ? "" : " (" + inventory.detail + ")")});
  }
  std::vector<LeasedDevice> all;
  for (const auto& device : inventory.devices) all.push_back(to_leased(device, static_cast<int>(all.size())));
  if (all.empty()) return {};
  auto allowed = narrow_pool(Backend::kXpu, all, caller, caller_ordinals(caller, inventory.devices),
                             Hierarchy::kComposite);
  if (!allowed) return allowed.error();
  for (const auto& leased : *allowed) {
    const auto device = std::find_if(inventory.devices.begin(), inventory.devices.end(),
                                     [&](const Device& candidate) { return candidate.id == leased.id; });
    if (device == inventory.devices.end()) continue;
    devices.pool.push_back({.device = to_planned(*device), .shared = false});
    devices.leasable.push_back(leased);
  }
  return {};
}

// CTest has given some of the devices to this test, and the others to its neighbours.
Result<void> keep_what_ctest_allocated(const Environment& caller, RunDevices& devices) {
  std::vector<std::string> ids;
  for (const auto& device : devices.leasable) ids.push_back(device.id);
  const auto allocated = ctest_allocation(caller, ids);
  if (!allocated) return allocated.error();
  if (!*allocated) return {};
  const auto given_away = [&](const std::string& id) {
    return std::find((*allocated)->begin(), (*allocated)->end(), id) == (*allocated)->end();
  };
  std::erase_if(devices.pool, [&](const PoolDevice& entry) { return given_away(entry.device.id); });
  std::erase_if(devices.leasable, [&](const LeasedDevice& device) { return given_away(device.id); });
  return {};
}

}  // namespace

Result<RunDevices> find_devices(const Plan& plan, const std::optional<Simulation>& simulation,
                                Containment& containment, const Environment& caller) {
  RunDevices devices;
  const bool xpu = uses(plan, Backend::kXpu);
  if (simulation && xpu) {
    add_simulated(*simulation, containment, caller, devices);
  } else if (xpu) {
    if (auto added = add_real(containment, caller, devices); !added) return added.error();
  }
  if (auto kept = keep_what_ctest_allocated(caller, devices); !kept) return kept.error();
  const DevicePool pool(devices.pool);
  for (const auto& test : plan.cases) {
    const auto backend = std::string(to_string(plan.suites[test.suite].backend));
    if (test.devices == 0 || devices.unusable.contains(backend) || pool.width(backend) != 0) continue;
    devices.no_device_for = backend;
  }
  return devices;
}

}  // namespace proctor::cli
