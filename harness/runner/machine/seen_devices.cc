#include "harness/runner/machine/seen_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/base/argv.h"
#include "harness/base/backend.h"
#include "harness/devices/inventory.h"
#include "harness/frameworks/kind.h"

namespace proctor {
namespace {

// Returns the devices that a first process of the case might get, or none if they are too few.
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

template <typename T>
std::vector<DeviceIdentity> identities_of(const std::vector<T>& devices) {
  std::vector<DeviceIdentity> identities;
  for (const T& device : devices) identities.push_back({device.uuid, device.pci});
  return identities;
}

// Returns the devices that the driver sees. A CUDA probe also lists the devices of NVML, which ignores masks.
std::vector<Device> visible(const Inventory& inventory) {
  std::vector<Device> devices = inventory.devices;
  std::erase_if(devices, [](const Device& device) { return device.ordinal < 0; });
  return devices;
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
    // A probe counts the parts of a divided GPU through NVML, which ignores masks.
    if (std::ranges::any_of(identities_of(leased), is_part_of_card)) return note("unknown, of a divided GPU");
    const Inventory& inventory = probe(suite.backend, environment);
    const std::string who = fmt::format("suite {}: a probe in the environment of its cases", suite.name);
    const bool nothing = reason_in_words(inventory.problem) == Reason::kNoDevice;
    if (!inventory.problem.empty() && !nothing) {
      seen.warnings.push_back({WarningCode::kProbe,
                               fmt::format("{} cannot determine their devices: {}", who, inventory.words())});
      return;
    }
    // The runtime belongs to this machine; the suite may have another one.
    if (!nothing && !inventory.runtime_problem.empty()) return note("unknown, " + inventory.words());
    const auto what = nothing ? std::vector<Device>() : visible(inventory);
    note(names_of_seen(what));
    if (sees_what_is_leased(identities_of(leased), identities_of(what))) return;
    std::string ids;
    for (const LeasedDevice& device : leased) ids += (ids.empty() ? "" : ", ") + device.id;
    seen.warnings.push_back(
        {WarningCode::kMaskMismatch,
         fmt::format("{} sees {} under {}, where {} would be leased", who, names_of_seen(what), mask, ids)});
  }

 private:
  // Returns the result of a probe. Suites whose cases have the same environment share it.
  const Inventory& probe(Backend backend, const CaseEnvironment& environment) {
    std::string key(to_string(backend));
    for (const std::string& variable : environment.variables) key += '\n' + variable;
    if (const auto known = answers_.find(key); known != answers_.end()) return known->second;
    ProbeOptions options;
    options.env = environment.variables;
    // The log of simulated faults is for cases only.
    unset_variable(options.env, kSimLogVariable);
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
  Looks samples(devices, containment);
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
    if (!environment) continue;  // its cases report the error
    samples.at(suite, leased, *environment, seen);
  }
  return seen;
}

}  // namespace proctor
