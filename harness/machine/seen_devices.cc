#include "harness/machine/seen_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/devices/inventory.h"
#include "harness/plan/kinds/kind.h"

namespace proctor {
namespace {

// The devices that a first process of the case might get; none if there are not enough.
std::vector<LeasedDevice> first_devices(const Suite& suite, const Case& test, const FoundDevices& devices) {
  const int wanted = test.devices / std::max(test.ranks, 1);
  std::vector<LeasedDevice> first;
  for (const LeasedDevice& device : devices.leasable) {
    const PoolDevice* entry = devices.find(device.id);
    if (entry == nullptr || entry->shared || entry->device.backend != to_string(suite.backend)) continue;
    if (static_cast<int>(first.size()) < wanted) first.push_back(device);
  }
  return static_cast<int>(first.size()) == wanted ? first : std::vector<LeasedDevice>();
}

bool is_it(const LeasedDevice& leased, const Device& seen) {
  return (!leased.uuid.empty() && leased.uuid == seen.uuid) ||
         (!leased.pci.empty() && leased.pci == seen.pci);
}

// A CUDA probe also lists what NVML shows it, which knows no mask.
std::vector<Device> visible(const Inventory& inventory) {
  std::vector<Device> devices = inventory.devices;
  std::erase_if(devices, [](const Device& device) { return device.ordinal < 0; });
  return devices;
}

bool agree(const std::vector<LeasedDevice>& leased, const std::vector<Device>& seen) {
  const auto has_lease = [&](const Device& device) {
    return std::ranges::any_of(leased, [&](const LeasedDevice& one) { return is_it(one, device); });
  };
  const auto is_seen = [&](const LeasedDevice& one) {
    return std::ranges::any_of(seen, [&](const Device& device) { return is_it(one, device); });
  };
  return std::ranges::all_of(leased, is_seen) && std::ranges::all_of(seen, has_lease);
}

std::string names_of_seen(const std::vector<Device>& devices) {
  std::string names;
  for (const Device& device : devices)
    names += (names.empty() ? "" : ", ") + (device.pci.empty() ? device.uuid : device.pci);
  return names.empty() ? "no device" : names;
}

std::string mask_of(const Suite& suite, const CaseEnvironment& environment) {
  const std::string name = mask_variable(suite.backend);
  for (const EnvironmentVariable& variable : environment.visibility) {
    if (variable.name == name && variable.value) return name + "=" + *variable.value;
  }
  return name + " unset";
}

// A probe counts the parts of a divided GPU by NVML, which knows no mask.
bool has_parts(const std::vector<LeasedDevice>& leased) {
  return std::ranges::any_of(leased,
                             [](const LeasedDevice& device) { return device.uuid.starts_with("MIG-"); });
}

class Looks {
 public:
  Looks(const FoundDevices& devices, Containment& containment)
      : devices_(devices), containment_(containment) {}

  void at(const Suite& suite, const std::vector<LeasedDevice>& leased, const CaseEnvironment& environment,
          SeenDevices& seen) {
    const std::string mask = mask_of(suite, environment);
    const auto note = [&](const std::string& what) {
      seen.notes.push_back(fmt::format("  sees         {}: {} under {}", suite.name, what, mask));
    };
    if (has_parts(leased)) return note("unknown, of a divided GPU");
    const Inventory& inventory = probe(suite.backend, environment);
    const std::string who = fmt::format("suite {}: a probe in the environment of its cases", suite.name);
    const bool nothing = inventory.problem == "no_device";
    if (!inventory.problem.empty() && !nothing) {
      seen.warnings.push_back(
          {"probe", fmt::format("{} cannot say what they see: {}", who, inventory.words())});
      return;
    }
    // The runtime is that of this machine; the suite may bring another one.
    if (!nothing && !inventory.runtime_problem.empty()) return note("unknown, " + inventory.words());
    const auto what = visible(inventory);
    note(names_of_seen(what));
    if (agree(leased, what)) return;
    std::string ids;
    for (const LeasedDevice& device : leased) ids += (ids.empty() ? "" : ", ") + device.id;
    seen.warnings.push_back(
        {std::string(kMaskMismatch),
         fmt::format("{} sees {} under {}, where {} would be leased", who, names_of_seen(what), mask, ids)});
  }

 private:
  // Suites whose cases have the same environment see the same.
  const Inventory& probe(Backend backend, const CaseEnvironment& environment) {
    std::string key(to_string(backend));
    for (const std::string& variable : environment.variables) key += '\n' + variable;
    if (const auto known = answers_.find(key); known != answers_.end()) return known->second;
    ProbeOptions options;
    options.env = environment.variables;
    // What a fault does to a probe is in no log of the cases.
    std::erase_if(options.env, [](const std::string& variable) {
      return variable.starts_with(std::string(kSimLogVariable) + "=");
    });
    if (const auto found = devices_.simulations.find(backend); found != devices_.simulations.end())
      options.loader_words = found->second.loader_words;
    return answers_.emplace(key, probe_devices(backend, containment_, std::move(options))).first->second;
  }

  const FoundDevices& devices_;
  Containment& containment_;
  std::map<std::string, Inventory> answers_;
};

}  // namespace

SeenDevices see_devices(const Plan& plan, const FoundDevices& devices, CaseEnvironments& environments,
                        Containment& containment) {
  SeenDevices seen;
  Looks looks(devices, containment);
  for (std::size_t i = 0; i < plan.suites.size(); ++i) {
    const Suite& suite = plan.suites[i];
    if (suite.kind->ours() || suite.backend == Backend::kNone) continue;
    const auto with_devices = std::ranges::find_if(
        plan.cases, [&](const Case& test) { return test.suite == i && test.devices > 0; });
    if (with_devices == plan.cases.end()) continue;
    const auto leased = first_devices(suite, *with_devices, devices);
    if (leased.empty()) continue;
    std::vector<std::string> ids;
    for (const LeasedDevice& device : leased) ids.push_back(device.id);
    const auto environment = environments.of(suite, ids);
    if (!environment) continue;  // its cases say so
    looks.at(suite, leased, *environment, seen);
  }
  return seen;
}

}  // namespace proctor
