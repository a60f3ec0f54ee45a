#include "harness/runner/machine/found_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "harness/base/text.h"
#include "harness/devices/caller_devices.h"
#include "harness/devices/cuda_versions.h"
#include "harness/devices/inventory.h"
#include "harness/journal/child_protocol.h"
#include "harness/journal/machine_facts.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/machine/program_needs.h"

namespace proctor {
namespace {

constexpr const char* kCtestVariable = "CTEST_RESOURCE_GROUP_COUNT";
constexpr const char* kNoMigInstance = "no_mig_instance";  // a problem that the probe reports
constexpr const char* kDevicesOption = "--devices";
constexpr std::size_t kShortestPrefix = 4;  // of a UUID or an id: a shorter prefix may be a mistake

std::string value_of(const Environment& environment, const std::string& name) {
  const auto it = environment.find(name);
  return it == environment.end() ? std::string() : it->second;
}

std::string key_of(Backend backend) { return std::string(to_string(backend)); }

// Returns whether the vendor is absent. Otherwise its devices exist but are not usable.
bool is_absence(const std::string& problem) {
  const ReasonText reason = reason_in_words(problem);
  return reason == Reason::kNoDriver || reason == Reason::kNoDevice || reason == Reason::kLibraryMissing ||
         problem == kNoMigInstance;
}

// Returns whether the driver does not start or respond, or finds no device although NVML lists some.
bool is_failure(const Inventory& inventory) {
  const std::string& problem = inventory.problem;
  return problem.starts_with("init:") || problem.starts_with("probe_") ||
         (!inventory.devices.empty() && reason_in_words(problem) == Reason::kNoDevice);
}

std::string driver_entry(const std::string& backend) { return backend + ".driver"; }

// Records the versions of the driver and the runtime of a backend, or why they are unknown.
void note_stack(Backend backend, const Inventory& inventory, FoundDevices& devices) {
  const std::string key = key_of(backend);
  devices.stack.insert(devices.stack.end(), inventory.stack.begin(), inventory.stack.end());
  devices.driver_files[key] = inventory.driver_file;
  const auto is_driver = [&](const auto& entry) { return entry.first == driver_entry(key); };
  if (std::ranges::any_of(inventory.stack, is_driver)) return;
  const std::string why = inventory.words();
  devices.silent_drivers[key] = why.empty() ? "the driver does not report it" : why;
}

// Adds the devices of Intel's simulated driver. Each process builds its own topology, so no device is leased.
void add_intel(const Simulation& simulation, Containment& containment, const Environment& caller,
               FoundDevices& devices) {
  const std::string xpu = key_of(Backend::kXpu);
  auto environment =
      environment_of(simulation, Backend::kXpu, value_of(caller, "LD_LIBRARY_PATH"), containment.programs());
  Inventory inventory;
  inventory.problem = environment.missing;
  if (environment.missing.empty()) {
    ProbeOptions options;
    // The caller's mask applies to the real machine.
    options.env = to_list(unmasked(Backend::kXpu, caller));
    inventory = probe_simulated(Backend::kXpu, containment, simulation, std::move(options));
  }
  devices.simulations[Backend::kXpu] = std::move(environment);
  note_stack(Backend::kXpu, inventory, devices);
  devices.lacking[xpu] = {child::kExecutionNeed, child::kManagementNeed};
  int ordinal = 0;
  for (const auto& device : simulated_devices(simulation)) {
    devices.pool.push_back({.device = to_planned(device), .shared = true});
    devices.leasable.push_back(to_leased(device, ordinal++));
  }
  if (reason_in_words(inventory.problem) == Reason::kLibraryMissing) {
    devices.unusable[xpu] = inventory.problem;
  } else if (!inventory.problem.empty()) {
    devices.warnings.push_back(
        {WarningCode::kProbe, "the simulated devices cannot be probed: " + inventory.words()});
  }
}

// If the driver is too old for the newest runtime, the probe uses an older one. Proctor's programs may not exist for
// that runtime.
void need_own_programs(const std::string& programs, Inventory& inventory) {
  if (!inventory.problem.empty() || !inventory.runtime_problem.empty()) return;
  const std::string program = programs + "/memory_cuda";
  const int needed = needed_cuda_runtime(program);
  const bool enough = inventory.cuda_driver / 1000 >= needed;
  if (needed == 0 || enough || !program_for_runtime(program, inventory.cuda_runtime / 1000).empty()) return;
  inventory.runtime_problem =
      ReasonText(Reason::kDriverTooOld,
                 fmt::format("{}<{}.0", cuda_version_text(inventory.cuda_driver), needed))
          .text();
  inventory.runtime_detail = needed_cuda_driver(needed * 1000, "", inventory.cuda_driver);
}

// Records the problems that a probe reported.
void note_problems(Backend backend, const Inventory& inventory, bool simulated, FoundDevices& devices) {
  const std::string key = key_of(backend);
  const bool lacks_library = reason_in_words(inventory.problem) == Reason::kLibraryMissing;
  if (!inventory.runtime_problem.empty()) devices.unusable_by_ours[key] = inventory.runtime_problem;
  if (!inventory.problem.empty() && (!simulated || lacks_library)) devices.unusable[key] = inventory.problem;
  if (inventory.words().empty() || (simulated && lacks_library)) return;
  if (!simulated && inventory.devices.empty() && is_absence(inventory.problem)) {
    devices.absent[key] = inventory.problem;
    if (inventory.problem != kNoMigInstance) return;
  }
  const char* who = inventory.problem.empty() ? "the built-in suites can use no" : "no";
  const char* can = inventory.problem.empty() ? "" : " can be used";
  const std::string text = fmt::format("{} {} device{}: {}", who, key, can, inventory.words());
  if (!simulated && is_failure(inventory)) devices.failing[key] = text;
  devices.warnings.push_back({WarningCode::kProbe, text});
}

// Records that `variable` of the caller hides all devices of the backend.
void hide(const std::string& backend, const std::string& variable, FoundDevices& devices) {
  devices.unusable[backend] = devices.absent[backend] = ReasonText(Reason::kHidden, variable).text();
}

// Returns the devices that the caller's mask allows.
Result<std::vector<LeasedDevice>> narrow(Backend backend, const Inventory& inventory,
                                         const DeviceProbe& probe, const Environment& caller,
                                         FoundDevices& devices) {
  const auto mask = caller_mask(backend, caller);
  auto allowed = caller_devices(backend, inventory.devices, caller, probe);
  if (!allowed || !mask) return allowed;
  const std::string variable = *name_in_force(mask_variable(backend), caller);
  devices.stack.emplace_back(key_of(backend) + ".caller_mask", *mask);
  const char* order = backend == Backend::kCuda ? kCudaOrderVariable : kXpuOrderVariable;
  if (const auto set = caller.find(order); set != caller.end())
    devices.stack.emplace_back(key_of(backend) + ".caller_order", set->second);
  std::string left;
  for (const auto& device : *allowed) {
    left += (left.empty() ? "" : ", ") + device.id;
    if (!device.only_tiles.empty()) left += fmt::format(" (tiles: {})", fmt::join(device.only_tiles, ", "));
  }
  devices.notes.push_back(fmt::format("  mask         {}={} of the caller: {}", variable, *mask,
                                      left.empty() ? "nothing" : left));
  if (allowed->empty()) hide(key_of(backend), variable, devices);
  return allowed;
}

void keep_only(const std::set<std::string>& ids, const char* why, FoundDevices& devices) {
  std::set<std::string> had;
  for (const PoolDevice& entry : devices.pool) had.insert(entry.device.backend);
  std::erase_if(devices.pool, [&](const PoolDevice& entry) { return !ids.contains(entry.device.id); });
  for (const PoolDevice& entry : devices.pool) had.erase(entry.device.backend);
  for (const std::string& backend : had) hide(backend, why, devices);
  std::erase_if(devices.leasable, [&](const LeasedDevice& device) { return !ids.contains(device.id); });
}

// Returns whether `word` is a number, an id, a UUID or a PCI address, or a prefix of one. Another machine may have such
// a device.
bool may_name_a_device(std::string_view word) {
  for (const std::string_view backend : {"cuda:", "xpu:", "cuda-sim:", "xpu-sim:"}) {
    if (!word.starts_with(backend)) continue;
    word.remove_prefix(backend.size());
    break;
  }
  if (word.empty() || word.front() == '-') return false;
  for (const std::string_view uuid : {"GPU-", "MIG-"}) {
    if (word.starts_with(uuid)) word.remove_prefix(uuid.size());
  }
  return word.find_first_not_of("0123456789abcdefABCDEF-:.") == word.npos;
}

// Returns the index of a device in its backend, in the order of `proctor devices`. Devices that a mask hides count too.
std::string place_of(const PoolDevice& entry, const FoundDevices& devices) {
  std::vector<std::string> ids;
  for (const PoolDevice& other : devices.pool) {
    if (other.device.backend == entry.device.backend) ids.push_back(other.device.id);
  }
  for (const WatchedDevices& watched : devices.watched) {
    if (to_string(watched.backend) == entry.device.backend) ids = watched.ids;
  }
  return std::to_string(std::ranges::find(ids, entry.device.id) - ids.begin());
}

std::size_t vendors(const std::vector<PoolDevice>& pool) {
  std::set<std::string> backends;
  for (const PoolDevice& entry : pool) backends.insert(entry.device.backend);
  return backends.size();
}

// Returns the devices that a word of --devices may name. A complete name has precedence over a prefix.
std::vector<const PoolDevice*> devices_named(const std::string& word, const FoundDevices& devices) {
  std::vector<const PoolDevice*> whole;
  std::vector<const PoolDevice*> begun;
  std::set<std::string> backends;
  for (const PoolDevice& entry : devices.pool) backends.insert(entry.device.backend);
  for (const PoolDevice& entry : devices.pool) {
    const std::string number = place_of(entry, devices);
    const auto leased = std::ranges::find(devices.leasable, entry.device.id, &LeasedDevice::id);
    std::vector<std::string> names = {entry.device.id};
    if (leased != devices.leasable.end()) {
      names.push_back(leased->uuid);
      names.push_back(leased->pci);
      if (leased->pci.starts_with("0000:")) names.push_back(leased->pci.substr(5));
    }
    const bool by_place =
        word == entry.device.backend + ":" + number || (backends.size() == 1 && word == number);
    if (by_place || std::ranges::find(names, word) != names.end()) {
      whole.push_back(&entry);
    } else if (word.size() >= kShortestPrefix &&
               std::ranges::any_of(names, [&](const std::string& name) { return name.starts_with(word); })) {
      begun.push_back(&entry);
    }
  }
  return whole.empty() ? begun : whole;
}

// Returns a text about the caller's masks. Devices that they hide are not in the pool.
std::string masks_of(const FoundDevices& devices) {
  std::string text;
  for (const Backend backend : {Backend::kCuda, Backend::kXpu}) {
    const auto mask = std::ranges::find(devices.stack, key_of(backend) + ".caller_mask",
                                        &std::pair<std::string, std::string>::first);
    if (mask != devices.stack.end())
      text += fmt::format(" The caller's {}={} hides others.", mask_variable(backend), mask->second);
  }
  return text;
}

std::string list_of(const std::vector<PoolDevice>& pool, const std::vector<LeasedDevice>& leasable) {
  std::string text;
  for (const PoolDevice& entry : pool) {
    text += (text.empty() ? "" : ", ") + entry.device.id;
    const auto leased = std::ranges::find(leasable, entry.device.id, &LeasedDevice::id);
    if (leased != leasable.end() && !leased->pci.empty() &&
        entry.device.id.find(leased->pci) == std::string::npos)
      text += " (" + leased->pci + ")";
  }
  return text.empty() ? "No device was found here. Run `proctor doctor` to find the reason."
                      : "There are: " + text + ".";
}

// Refuses variables of the caller that cannot be applied, and notes defaults.
Result<void> note_variables(Backend backend, const Environment& caller, FoundDevices& devices) {
  if (auto usable = check_caller(backend, caller); !usable) return usable;
  if (backend != Backend::kXpu) return {};
  const auto hierarchy = caller_hierarchy(caller);
  if (!hierarchy) return hierarchy.error();
  if (*hierarchy)
    devices.notes.push_back(fmt::format("  hierarchy    {} of the caller, unless a suite sets another one",
                                        to_string(**hierarchy)));
  return {};
}

// Adds the devices of the machine, or those of simgpu. All processes share simgpu's devices, so they are found, masked
// and leased in the same way as real ones.
Result<void> add_devices(Backend backend, const std::optional<Simulation>& simulation,
                         Containment& containment, const Environment& caller, FoundDevices& devices) {
  const DeviceProbe probe = [&](const Environment& environment) {
    ProbeOptions options;
    options.env = to_list(environment);
    return simulation ? probe_simulated(backend, containment, *simulation, std::move(options))
                      : probe_devices(backend, containment, std::move(options));
  };
  if (simulation) {
    auto environment =
        environment_of(*simulation, backend, value_of(caller, "LD_LIBRARY_PATH"), containment.programs());
    if (environment.missing.empty()) devices.simulations[backend] = std::move(environment);
  }
  // The probe runs without the caller's mask, under the variables that the cases will get, because ordinals must be the
  // same for both.
  const Environment whole = unmasked(backend, caller);
  Inventory inventory = probe(whole);
  if (backend == Backend::kCuda) {
    need_own_programs(containment.programs(), inventory);
    devices.cuda_runtime = inventory.cuda_runtime / 1000;
  }
  note_stack(backend, inventory, devices);
  note_problems(backend, inventory, simulation.has_value(), devices);
  if (inventory.devices.empty()) return {};
  if (auto noted = note_variables(backend, caller, devices); !noted) return noted;
  // The devices are simulated, although no simulation was requested.
  if (!simulation && !inventory.simulated_driver.empty()) {
    devices.warnings.push_back(
        {WarningCode::kSimulatedDriver,
         fmt::format("the {} devices are simulated: {} is loaded instead of a hardware driver, so no result "
                     "is hardware evidence. Use --sim for a simulation",
                     key_of(backend), inventory.simulated_driver)});
    devices.stack.emplace_back(key_of(backend) + ".simulated_driver", inventory.simulated_driver);
  }
  WatchedDevices watched{.backend = backend, .ids = {}, .env = to_list(whole)};
  for (const auto& device : inventory.devices) watched.ids.push_back(device.id);
  devices.watched.push_back(std::move(watched));
  const auto allowed = narrow(backend, inventory, probe, caller, devices);
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

}  // namespace

const PoolDevice* FoundDevices::find(const std::string& id) const {
  const auto found =
      std::ranges::find_if(pool, [&](const PoolDevice& entry) { return entry.device.id == id; });
  return found == pool.end() ? nullptr : &*found;
}

void FoundDevices::add(const FoundDevices& other) {
  const auto append = [](auto& list, const auto& more) { list.insert(list.end(), more.begin(), more.end()); };
  append(pool, other.pool);
  if (other.cuda_runtime != 0) cuda_runtime = other.cuda_runtime;
  append(leasable, other.leasable);
  unusable.insert(other.unusable.begin(), other.unusable.end());
  unusable_by_ours.insert(other.unusable_by_ours.begin(), other.unusable_by_ours.end());
  lacking.insert(other.lacking.begin(), other.lacking.end());
  absent.insert(other.absent.begin(), other.absent.end());
  failing.insert(other.failing.begin(), other.failing.end());
  driver_files.insert(other.driver_files.begin(), other.driver_files.end());
  append(stack, other.stack);
  silent_drivers.insert(other.silent_drivers.begin(), other.silent_drivers.end());
  simulations.insert(other.simulations.begin(), other.simulations.end());
  append(watched, other.watched);
  append(warnings, other.warnings);
  append(notes, other.notes);
}

Result<void> FoundDevices::keep_what_ctest_allocated(const Environment& caller) {
  std::vector<std::string> ids;
  for (const auto& device : leasable) ids.push_back(device.id);
  const auto allocated = ctest_allocation(caller, ids);
  if (!allocated) return allocated.error();
  if (*allocated) keep_only({(*allocated)->begin(), (*allocated)->end()}, kCtestVariable, *this);
  return {};
}

Result<std::vector<std::string>> FoundDevices::choose(const std::string& spec) const {
  std::vector<std::string> chosen;
  for (std::string_view rest = spec; !rest.empty() || chosen.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string word(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::vector<const PoolDevice*> named = devices_named(word, *this);
    const auto refuse = [&](const std::string& why, ErrorKind kind = ErrorKind::kUsage) {
      return Error{kind, fmt::format("use --devices {}: {}", shell_quote(spec), why),
                   list_of(pool, leasable) + masks_of(*this), 0};
    };
    const bool is_number = !word.empty() && word.find_first_not_of("0123456789") == word.npos;
    if (named.empty() && is_number && vendors(pool) > 1)
      return refuse(fmt::format("`{}` does not name a vendor", word));
    if (named.empty() && may_name_a_device(word))
      return refuse(fmt::format("there is no device `{}`", word), ErrorKind::kSystem);
    if (named.empty()) return refuse(fmt::format("`{}` cannot name a device", word));
    if (named.size() > 1) return refuse(fmt::format("`{}` matches {} devices", word, named.size()));
    if (named.front()->shared)
      return refuse(
          fmt::format("each process simulates all of them itself, also {}", named.front()->device.id));
    const std::string& id = named.front()->device.id;
    if (std::ranges::find(chosen, id) != chosen.end())
      return refuse(fmt::format("`{}` is {}, which is named twice", word, id));
    chosen.push_back(id);
  }
  return chosen;
}

void FoundDevices::keep(const std::vector<std::string>& chosen) {
  keep_only({chosen.begin(), chosen.end()}, kDevicesOption, *this);
  std::ranges::stable_sort(pool, {}, [&](const PoolDevice& entry) {
    return std::ranges::find(chosen, entry.device.id) - chosen.begin();
  });
}

Result<FoundDevices> find_devices(Backend backend, const std::optional<Simulation>& simulation,
                                  Containment& containment, const Environment& caller) {
  FoundDevices devices;
  if (simulation && simulation->driver.kind == SimDriverKind::kIntel && backend == Backend::kXpu) {
    add_intel(*simulation, containment, caller, devices);
  } else if (auto added = add_devices(backend, simulation, containment, caller, devices); !added) {
    return added.error();
  }
  return devices;
}

std::vector<Backend> backends_of(const Plan& plan) {
  std::vector<Backend> backends;
  for (const Case& test : plan.cases) {
    const Backend backend = plan.suites[test.suite].backend;
    if (std::ranges::find(backends, backend) == backends.end()) backends.push_back(backend);
  }
  return backends;
}

void attribute_to_drivers(const Plan& plan, FoundDevices& devices) {
  for (const auto& [backend, text] : devices.failing) {
    const auto needs_it = [&](const Case& test) {
      return test.devices > 0 && key_of(plan.suites[test.suite].backend) == backend;
    };
    const auto is_other = [&](const PoolDevice& entry) { return entry.device.backend != backend; };
    if (std::ranges::none_of(plan.cases, needs_it) || std::ranges::any_of(devices.pool, is_other)) continue;
    for (Warning& warning : devices.warnings) {
      if (warning.text == text) warning.code = WarningCode::kDeviceAccess;
    }
  }
}

std::vector<StackFact> unsaid_drivers(const FoundDevices& devices) {
  std::vector<StackFact> facts;
  for (const Backend backend : {Backend::kXpu, Backend::kCuda}) {
    const std::string name = driver_entry(key_of(backend));
    if (std::ranges::find(devices.stack, name, &std::pair<std::string, std::string>::first) !=
        devices.stack.end())
      continue;
    const auto why = devices.silent_drivers.find(key_of(backend));
    facts.push_back({.name = name,
                     .value = std::nullopt,
                     .source = std::string(kDriverSource),
                     .reason = why != devices.silent_drivers.end() ? why->second : "no case needs it",
                     .absent = false});
  }
  return facts;
}

std::vector<std::string> leave_out_absent(Plan& plan, const FoundDevices& devices) {
  std::vector<std::string> notes;
  if (devices.pool.empty()) return notes;
  const auto is_left_out = [&](const Suite& suite) {
    return suite.origin == kBuiltInOrigin && devices.absent.contains(key_of(suite.backend));
  };
  for (const Suite& suite : plan.suites) {
    if (!is_left_out(suite)) continue;
    notes.push_back(fmt::format("  left out     {}.{}: {}", suite.name, key_of(suite.backend),
                                devices.absent.at(key_of(suite.backend))));
  }
  std::erase_if(plan.cases, [&](const Case& test) { return is_left_out(plan.suites[test.suite]); });
  return notes;
}

// Skips cases if a simulation lacks a library. If the machine has no such device, or the caller's mask hides all, the
// run is also incomplete.
std::string backend_without_devices(const Plan& plan, const FoundDevices& devices) {
  const DevicePool pool(devices.pool);
  for (const auto& test : plan.cases) {
    const auto backend = key_of(plan.suites[test.suite].backend);
    if (test.devices == 0 || pool.width(backend) != 0) continue;
    if (devices.absent.contains(backend) || !devices.unusable.contains(backend)) return backend;
  }
  return {};
}

std::string variable_that_hides(const std::string& backend, const FoundDevices& devices) {
  const auto why = devices.absent.find(backend);
  const ReasonText reason = reason_in_words(why != devices.absent.end() ? why->second : "");
  return std::string(reason.value_of(Reason::kHidden).value_or(""));
}

}  // namespace proctor
