#include "harness/runner/machine/default_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "harness/base/text.h"
#include "harness/devices/caller_devices.h"
#include "harness/frameworks/kind.h"
#include "harness/runner/machine/machine.h"
#include "harness/runner/machine/slurm_allocation.h"

namespace proctor {
namespace {

constexpr Backend kVendors[] = {Backend::kCuda, Backend::kXpu};

bool contains(const std::vector<Backend>& backends, Backend backend) {
  return std::ranges::find(backends, backend) != backends.end();
}

// Returns the library that selects the vendor. A program may need libraries of several vendors. A library of a present
// vendor has precedence over a library without which the program cannot start.
const NeededBackend* library_of(const std::vector<NeededBackend>& needed, const DeviceSurroundings& around) {
  for (const Backend backend : around.present) {
    const auto found = std::ranges::find(needed, backend, &NeededBackend::backend);
    if (found != needed.end()) return &*found;
  }
  const auto certain = std::ranges::find(needed, true, &NeededBackend::certain);
  return certain == needed.end() ? nullptr : &*certain;
}

// Returns the reason. A program with a linked CUDA runtime does not load the simulated one.
std::string reason_of(const NeededBackend& library, const DeviceSurroundings& around) {
  const bool in_vain = library.backend == Backend::kCuda && !library.certain && around.simulated;
  return library.why + (in_vain ? "; simulated cards need libcudart.so: docs/reference/cuda-runtime.md" : "");
}

std::optional<Backend> only_one(const std::vector<Backend>& backends) {
  return backends.size() == 1 ? std::optional(backends.front()) : std::nullopt;
}

std::vector<Backend> keys_of(const auto& map) {
  std::vector<Backend> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

// Returns the present vendors whose devices the caller's masks name.
std::vector<Backend> masked_vendors(const DeviceSurroundings& around) {
  std::vector<Backend> vendors = keys_of(around.masks);
  std::erase_if(vendors, [&](Backend backend) { return !contains(around.present, backend); });
  return vendors;
}

std::vector<Backend> eligible_vendors(const DeviceSurroundings& around) {
  std::vector<Backend> vendors = around.job_without_device ? std::vector<Backend>() : around.discrete;
  std::erase_if(vendors, [&](Backend backend) { return contains(around.hidden, backend); });
  return vendors;
}

// Returns the most likely vendor if a suite requires devices. If no devices exist, any vendor is suitable for the
// report about this.
Backend likeliest(const Suite& suite, const NeededBackend* library, const DeviceSurroundings& around) {
  if (!suite.hierarchy.empty()) return Backend::kXpu;
  if (library != nullptr) return library->backend;
  for (const auto& vendors : {keys_of(around.named), around.allocated, masked_vendors(around),
                              eligible_vendors(around), around.present}) {
    if (!vendors.empty()) return vendors.front();
  }
  return Backend::kXpu;
}

Result<DefaultDevices> written_devices(const Suite& suite, SuiteRole role, const NeededBackend* library,
                                       const DeviceSurroundings& around) {
  DefaultDevices written{.by = DevicesBy::kWritten};
  if (suite.devices == 0) return written;
  if (role == SuiteRole::kCommand && around.named.size() > 1)
    return Error::refused("--devices must name devices of one vendor for one command",
                          "Add --backend cuda or --backend xpu.");
  written.backend = likeliest(suite, library, around);
  written.all = suite.devices < 0 && suite.ranks == 0 && role == SuiteRole::kCommand;
  written.devices = std::max(suite.devices, 1);
  written.reason = library != nullptr         ? reason_of(*library, around)
                   : !around.named.empty()    ? "--devices"
                   : !suite.hierarchy.empty() ? "hierarchy"
                   : suite.devices > 0        ? "their number is given"
                                              : "allocated by CTest";
  return written;
}

bool is_written(const Suite& suite, const DeviceSurroundings& around) {
  return suite.devices >= 0 || !suite.devices_marker.empty() || !suite.hierarchy.empty() ||
         !around.named.empty() || !around.allocated.empty();
}

std::string which_vendor(const Suite& suite) {
  return fmt::format(
      "suite `{}` gets no device: this machine has devices of both vendors; add --backend cuda or "
      "--backend xpu",
      suite.name);
}

// Returns whether the mask hides all devices. An invalid mask counts as one that names devices: the user of the mask
// reports it.
bool hides_all(Backend backend, const std::string& mask) {
  return backend == Backend::kCuda && (mask.empty() || mask.starts_with("-1") || mask == "NoDevFiles");
}

std::map<Backend, std::string> masks_that_name_devices(const Environment& caller) {
  std::map<Backend, std::string> masks;
  for (const Backend backend : kVendors) {
    const auto mask = caller_mask(backend, caller);
    if (mask && !mask->empty() && !hides_all(backend, *mask))
      masks[backend] =
          fmt::format("{}={}", *name_in_force(mask_variable(backend), caller), clean_text(*mask));
  }
  return masks;
}

Result<DeviceSurroundings> surroundings(Machine& machine) {
  DeviceSurroundings around{
      .present = machine.likely_backends(),
      .discrete = machine.discrete_backends(),
      .job_without_device = !machine.lease_path().empty() && slurm_gave_no_device(machine.caller()),
      .simulated = machine.simulation().has_value()};
  const auto named = machine.chosen();
  if (!named) return named.error();
  around.named = *named;
  around.masks = masks_that_name_devices(machine.caller());
  for (const Backend backend : kVendors) {
    const auto mask = caller_mask(backend, machine.caller());
    if (mask && hides_all(backend, *mask)) around.hidden.push_back(backend);
    if (has_ctest_allocation(machine.caller(), to_string(backend))) around.allocated.push_back(backend);
  }
  return around;
}

}  // namespace

Result<DefaultDevices> default_devices(const Suite& suite, SuiteRole role,
                                       const std::vector<NeededBackend>& needed,
                                       const DeviceSurroundings& around) {
  const NeededBackend* library = library_of(needed, around);
  if (is_written(suite, around)) return written_devices(suite, role, library, around);
  if (suite.ranks > 0 && library == nullptr)
    return DefaultDevices{.reason = "its ranks get devices only by `backend`"};
  const auto masked = only_one(masked_vendors(around));
  if (masked && (library == nullptr || library->backend == *masked))
    return DefaultDevices{.backend = *masked,
                          .devices = 1,
                          .reason = "the caller's " + around.masks.at(*masked),
                          .all = role == SuiteRole::kCommand && suite.ranks == 0};
  if (library != nullptr && role != SuiteRole::kPytest)
    return DefaultDevices{.backend = library->backend, .devices = 1, .reason = reason_of(*library, around)};
  if (role != SuiteRole::kPytest && !needed.empty())
    return DefaultDevices{.reason =
                              "the program " + needed.front().why + ", and its vendor has no device here"};
  if (role == SuiteRole::kTestProgram)
    return DefaultDevices{.reason = "the program needs no library of a GPU"};
  const auto vendors = eligible_vendors(around);
  const bool nothing_here = vendors.empty();
  const bool hidden = !around.hidden.empty() && nothing_here;
  if (around.job_without_device) return DefaultDevices{.reason = "the Slurm job has no device"};
  if (nothing_here) return DefaultDevices{.by = hidden ? DevicesBy::kWritten : DevicesBy::kRule};
  if (role == SuiteRole::kPytest) {
    const auto vendor = only_one(vendors);
    return DefaultDevices{
        .backend = vendor.value_or(Backend::kNone), .devices = vendor ? 1 : 0, .by = DevicesBy::kAuto};
  }
  if (vendors.size() > 1)
    return DefaultDevices{.reason = "devices of both vendors", .warning = which_vendor(suite)};
  return DefaultDevices{.backend = vendors.front(), .devices = 1, .reason = "a command gets one"};
}

Result<void> choose_devices(Machine& machine, SuiteRole role, const std::string& executable, Suite& suite,
                            std::vector<Warning>& warnings) {
  if (suite.devices_by != DevicesBy::kAuto) return {};
  const auto around = surroundings(machine);
  if (!around) return around.error();
  const auto library_path = machine.caller().find("LD_LIBRARY_PATH");
  const auto needed = needed_backends(
      executable, library_path == machine.caller().end() ? std::string_view() : library_path->second);
  auto chosen = default_devices(suite, role, needed, *around);
  if (!chosen) return chosen.error();
  if (!chosen->warning.empty()) warnings.push_back({WarningCode::kNoDefaultDevice, chosen->warning});
  suite.backend = chosen->backend;
  suite.devices = chosen->devices;
  suite.devices_by = chosen->by;
  suite.devices_reason = chosen->reason;
  if (suite.backend == Backend::kNone && suite.devices_by != DevicesBy::kAuto) suite.mem_cap = 0;
  if (!chosen->all || suite.backend == Backend::kNone) return {};
  const auto devices = machine.devices({suite.backend});
  if (!devices) return devices.error();
  suite.devices = std::max(1, static_cast<int>(devices->pool.size()));
  return {};
}

bool confirm_devices(const Machine& machine, bool listed_with_devices, Suite& suite,
                     std::vector<Warning>& warnings) {
  suite.devices_by = DevicesBy::kRule;
  std::vector<std::string> names;
  std::vector<Backend> vendors;
  for (const auto& [name, vendor] : suite.gpu_modules) {
    names.push_back(name);
    const auto backend = parse_backend(vendor);
    if (backend && contains(machine.discrete_backends(), *backend)) vendors.push_back(*backend);
  }
  const bool serves_any =
      std::ranges::any_of(suite.gpu_modules, [](const auto& one) { return one.second.empty(); });
  if (suite.backend == Backend::kNone && !vendors.empty()) suite.backend = vendors.front();
  const bool unclear = suite.backend == Backend::kNone && serves_any;
  const bool of_another = vendors.empty() && !serves_any;
  suite.devices_reason = names.empty() ? "its modules import no module for GPUs"
                                       : fmt::format("pytest imports {}", fmt::join(names, ", "));
  if (unclear) warnings.push_back({WarningCode::kNoDefaultDevice, which_vendor(suite)});
  if (unclear || of_another) suite.backend = Backend::kNone;
  suite.devices = suite.backend == Backend::kNone ? 0 : 1;
  return suite.devices > 0 && !listed_with_devices;
}

std::vector<std::string> describe_devices(const Machine& machine, const Plan& plan,
                                          const FoundDevices& devices) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < plan.suites.size(); ++i) {
    const Suite& suite = plan.suites[i];
    const bool has_cases = std::ranges::find(plan.cases, i, &Case::suite) != plan.cases.end();
    if (suite.devices_by != DevicesBy::kRule || !has_cases || machine.discrete_backends().empty()) continue;
    const std::string each = suite.kind->traits().one_case ? "for the command" : "for each case";
    const auto present = std::ranges::count_if(devices.pool, [&](const PoolDevice& entry) {
      return entry.device.backend == to_string(suite.backend);
    });
    const std::string words = suite.devices > 0
                                  ? fmt::format("{} of {} {}: {} (--gpus 0: none)", suite.devices, present,
                                                each, suite.devices_reason)
                                  : fmt::format("none: {} (--gpus 1: one {})", suite.devices_reason, each);
    lines.push_back(
        fmt::format("  {:<12} {}{}", "devices", plan.suites.size() > 1 ? suite.name + ": " : "", words));
  }
  return lines;
}

void warn_of_unused_masks(const Machine& machine, const Plan& plan, std::vector<Warning>& warnings) {
  for (const auto& [backend, mask] : masks_that_name_devices(machine.caller())) {
    const bool used = std::ranges::any_of(plan.cases, [&, vendor = backend](const Case& test) {
      return test.devices > 0 && plan.suites[test.suite].backend == vendor;
    });
    const bool other_vendor_only = !contains(machine.likely_backends(), backend);
    if (used || other_vendor_only || plan.cases.empty()) continue;
    warnings.push_back(
        {WarningCode::kMaskUnused,
         fmt::format("the caller's {} has no effect: no case gets a {} device", mask, to_string(backend))});
  }
}

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
