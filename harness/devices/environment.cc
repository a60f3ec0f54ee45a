#include "harness/devices/environment.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "harness/core/text.h"
#include "harness/core/words.h"
#include "harness/devices/masks/mask_cuda.h"
#include "harness/devices/masks/mask_xpu.h"

namespace proctor {
namespace {

constexpr const char* kXpuDriversVariable = "ZE_ENABLE_ALT_DRIVERS";
// Nobody can create a file below /proc, so this one stays missing.
constexpr const char* kNoDriver = "/proc/proctor/no-level-zero-driver.so";

// Intel's driver reads its variables under these prefixes too, and prefers them to the plain names.
constexpr std::string_view kIntelPrefixes[] = {"NEO_L0_", "NEO_"};

VariableChange hide_cuda() { return {kCudaMaskVariable, "", "the empty string hides every CUDA device"}; }

VariableChange hide_xpu() {
  return {kXpuDriversVariable, kNoDriver,
          "a driver file that cannot exist hides every Level Zero device; no mask does so safely"};
}

Result<void> check_unique(std::vector<std::string> entries, const char* variable) {
  std::sort(entries.begin(), entries.end());
  const auto twice = std::adjacent_find(entries.begin(), entries.end());
  if (twice == entries.end()) return {};
  return Error::internal("mask by " + std::string(variable) + ": two leased devices are both " +
                         in_quotes(*twice));
}

Result<std::string> cuda_mask(const std::vector<LeasedDevice>& devices, MaskMode mode) {
  std::vector<std::string> entries;
  for (const LeasedDevice& device : devices) {
    const bool known = mode == MaskMode::kUuid ? !device.uuid.empty() : device.ordinal >= 0;
    if (!known) {
      return Error::internal("mask " + device.id + ": it has no " +
                             (mode == MaskMode::kUuid ? "UUID" : "ordinal"));
    }
    entries.push_back(mode == MaskMode::kUuid ? device.uuid : std::to_string(device.ordinal));
  }
  if (auto unique = check_unique(entries, kCudaMaskVariable); !unique) return unique.error();
  return joined(entries, ",");
}

// Ascending, since the order in the mask means nothing to Level Zero.
Result<std::string> xpu_mask(std::vector<LeasedDevice> devices, Hierarchy hierarchy) {
  std::sort(devices.begin(), devices.end(),
            [](const auto& a, const auto& b) { return a.ordinal < b.ordinal; });
  std::vector<std::string> entries;
  for (const LeasedDevice& device : devices) {
    if (device.ordinal < 0) return Error::internal("mask " + device.id + ": it has no ordinal");
    const std::string ordinal = std::to_string(device.ordinal);
    if (device.only_tiles.empty()) {
      entries.push_back(ordinal);
    } else if (hierarchy != Hierarchy::kComposite) {
      return Error::internal("mask " + device.id + ": it has tiles under " +
                             std::string(to_string(hierarchy)));
    }
    for (const int tile : device.only_tiles) entries.push_back(ordinal + "." + std::to_string(tile));
  }
  if (auto unique = check_unique(entries, kXpuMaskVariable); !unique) return unique.error();
  return joined(entries, ",");
}

void unset_prefixed(std::string_view name, std::vector<VariableChange>& plan) {
  for (const std::string_view prefix : kIntelPrefixes) {
    plan.push_back({std::string(prefix) + std::string(name), std::nullopt,
                    "Intel's driver would read it before " + std::string(name)});
  }
}

Result<std::vector<VariableChange>> plan_cuda(const VisibilityRequest& request) {
  auto mask = cuda_mask(request.devices, request.mode);
  if (!mask) return mask.error();
  std::vector<VariableChange> plan;
  plan.push_back({kCudaMaskVariable, *mask, "the leased devices"});
  if (request.mode == MaskMode::kIndex) {
    plan.push_back({kCudaOrderVariable, kCudaPciOrder, "the ordinals are in PCI order"});
  }
  plan.push_back(hide_xpu());
  return plan;
}

Result<std::vector<VariableChange>> plan_xpu(const VisibilityRequest& request) {
  std::vector<VariableChange> plan;
  if (request.simulated_intel && request.devices.empty()) {
    plan.push_back({kXpuMaskVariable, std::nullopt, "each process has a simulated topology of its own"});
    unset_prefixed(kXpuMaskVariable, plan);
  } else {
    auto mask = xpu_mask(request.devices, request.hierarchy);
    if (!mask) return mask.error();
    plan.push_back({kXpuMaskVariable, *mask, "the leased devices"});
    plan.push_back(
        {kXpuHierarchyVariable, std::string(to_string(request.hierarchy)), "the same as in the probe"});
    plan.push_back({kXpuOrderVariable, "1", "the ordinals are in PCI order, as in the probe"});
    for (const char* name : {kXpuMaskVariable, kXpuHierarchyVariable, kXpuOrderVariable})
      unset_prefixed(name, plan);
  }
  plan.push_back(hide_cuda());
  return plan;
}

Error untranslatable(const char* variable, const std::string& mask, std::string hint) {
  return Error::usage("translate " + std::string(variable) + " " + in_quotes(mask) +
                          ": its ordinals may count the devices in another order than the probe did",
                      std::move(hint));
}

Error refused(const char* variable, const std::string& mask, const MaskLint& lint) {
  std::string why = lint.refused_whole;
  if (!lint.refusals.empty()) why = to_string(lint.refusals.front().entry) + " " + lint.refusals.front().why;
  return Error::usage("use the caller's " + std::string(variable) + " " + in_quotes(mask) + ": " + why,
                      lint.suggestion);
}

// The device with this ordinal, or nothing: the pool need not be ordered.
const LeasedDevice* find_ordinal(const std::vector<LeasedDevice>& pool, int ordinal) {
  for (const LeasedDevice& device : pool) {
    if (device.ordinal == ordinal) return &device;
  }
  return nullptr;
}

bool is_mig(const LeasedDevice& device) { return device.uuid.starts_with("MIG-"); }

Result<std::vector<LeasedDevice>> narrow_cuda(const std::vector<LeasedDevice>& pool, const std::string& mask,
                                              CallerOrdinals ordinals) {
  const MaskLint lint = lint_cuda_mask(mask, std::nullopt);
  if (!lint.accepted()) return refused(kCudaMaskVariable, mask, lint);
  const bool by_name = mask.starts_with("GPU-") || mask.starts_with("MIG-");
  // Names are matched against the pool below, so that an unknown or ambiguous one ends
  // the list as it does for CUDA.
  CudaHost host;
  std::vector<const LeasedDevice*> gpus;
  for (const LeasedDevice& device : pool) {
    if (device.ordinal >= host.devices) host.devices = device.ordinal + 1;
    if (is_mig(device)) {
      host.migs.push_back(device.uuid);
    } else {
      host.uuids.push_back(device.uuid);
      gpus.push_back(&device);
    }
  }
  if (pool.empty()) return pool;
  const CudaSelection selection = select_cuda(mask, host);
  if (!by_name && !selection.devices.empty() && pool.size() > 1 && ordinals == CallerOrdinals::kUnknown) {
    return untranslatable(kCudaMaskVariable, mask,
                          "Set CUDA_DEVICE_ORDER=PCI_BUS_ID beside it, or name the devices by GPU-UUID.");
  }
  std::vector<LeasedDevice> left;
  for (const CudaDevice& chosen : selection.devices) {
    if (by_name && chosen.ordinal) {
      left.push_back(
          *gpus[static_cast<std::size_t>(*chosen.ordinal)]);  // select_cuda counts the names given to it
      continue;
    }
    for (const LeasedDevice& device : pool) {
      if (chosen.ordinal ? device.ordinal == *chosen.ordinal : device.uuid == chosen.name)
        left.push_back(device);
    }
  }
  return left;
}

// What one entry leaves of the device that it names.
void add_entry(const XpuMaskEntry& entry, const LeasedDevice& device, std::map<int, LeasedDevice>& left) {
  if (entry.tile && *entry.tile >= static_cast<unsigned>(device.tiles)) return;
  const auto [slot, added] = left.emplace(device.ordinal, device);
  std::vector<int>& only = slot->second.only_tiles;
  if (!entry.tile) {
    only.clear();  // the whole card
  } else if (added || !only.empty()) {
    const int tile = static_cast<int>(*entry.tile);
    if (std::find(only.begin(), only.end(), tile) == only.end()) only.push_back(tile);
    std::sort(only.begin(), only.end());
  }
}

Result<std::vector<LeasedDevice>> narrow_xpu(const std::vector<LeasedDevice>& pool, const std::string& mask,
                                             CallerOrdinals ordinals, Hierarchy hierarchy) {
  const MaskLint lint = lint_xpu_mask(mask, std::nullopt, std::nullopt);
  if (!lint.accepted()) return refused(kXpuMaskVariable, mask, lint);
  const auto parsed = parse_xpu_mask(mask);
  if (parsed->all) return pool;
  if (pool.size() > 1 && ordinals == CallerOrdinals::kUnknown) {
    return untranslatable(kXpuMaskVariable, mask,
                          "Set ZE_ENABLE_PCI_ID_DEVICE_ORDER=1 and ZE_FLAT_DEVICE_HIERARCHY beside it.");
  }
  std::map<int, LeasedDevice> left;
  for (const XpuMaskEntry& entry : parsed->entries) {
    if (entry.tile && hierarchy != Hierarchy::kComposite) continue;  // names nothing there
    const LeasedDevice* device =
        entry.card < INT32_MAX ? find_ordinal(pool, static_cast<int>(entry.card)) : nullptr;
    if (device != nullptr) add_entry(entry, *device, left);
  }
  std::vector<LeasedDevice> result;
  for (auto& [ordinal, device] : left) result.push_back(std::move(device));
  return result;
}

}  // namespace

Environment read_environment(const char* const* envp) {
  Environment environment;
  for (; envp != nullptr && *envp != nullptr; ++envp) {
    const std::string_view line = *envp;
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    environment.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return environment;
}

std::vector<std::string> to_list(const Environment& environment) {
  std::vector<std::string> list;
  for (const auto& [name, value] : environment) list.push_back(name + "=" + value);
  return list;
}

Result<MaskMode> parse_mask_mode(std::string_view text) {
  if (text == "uuid") return MaskMode::kUuid;
  if (text == "index") return MaskMode::kIndex;
  const std::string near = near_miss(text, {"uuid", "index"});
  return Error::usage("read mask mode " + in_quotes(text) + ": expected uuid or index",
                      near.empty() ? std::string() : "Did you mean '" + near + "'?");
}

Result<std::vector<VariableChange>> plan_visibility(const VisibilityRequest& request) {
  const bool sees_devices = !request.devices.empty() || request.simulated_intel;
  if (request.backend == Backend::kCuda && sees_devices) return plan_cuda(request);
  if (request.backend == Backend::kXpu && sees_devices) return plan_xpu(request);
  return std::vector<VariableChange>{hide_cuda(), hide_xpu()};
}

void apply(const std::vector<VariableChange>& plan, Environment& environment) {
  for (const VariableChange& change : plan) {
    if (change.value) {
      environment[change.name] = *change.value;
    } else {
      environment.erase(change.name);
    }
  }
}

void unmask_xpu(Environment& environment, Hierarchy hierarchy) {
  for (const char* name : {kXpuMaskVariable, kXpuHierarchyVariable, kXpuOrderVariable}) {
    environment.erase(name);
    for (const std::string_view prefix : kIntelPrefixes) environment.erase(std::string(prefix) + name);
  }
  environment[kXpuHierarchyVariable] = to_string(hierarchy);
  environment[kXpuOrderVariable] = "1";
}

void unmask_cuda(Environment& environment) {
  environment.erase(kCudaMaskVariable);
  environment[kCudaOrderVariable] = kCudaPciOrder;
}

Environment unmasked(Backend backend, Environment environment) {
  if (backend == Backend::kXpu) unmask_xpu(environment, Hierarchy::kComposite);
  if (backend == Backend::kCuda) unmask_cuda(environment);
  return environment;
}

const char* mask_variable(Backend backend) {
  return backend == Backend::kCuda ? kCudaMaskVariable : kXpuMaskVariable;
}

std::optional<std::string> caller_mask(Backend backend, const Environment& caller) {
  if (backend == Backend::kNone) return std::nullopt;
  std::vector<std::string> names = {kCudaMaskVariable};
  if (backend == Backend::kXpu) {
    names.clear();
    for (const std::string_view prefix : kIntelPrefixes)
      names.push_back(std::string(prefix) + kXpuMaskVariable);
    names.emplace_back(kXpuMaskVariable);
  }
  for (const std::string& name : names) {
    if (const auto found = caller.find(name); found != caller.end()) return found->second;
  }
  return std::nullopt;
}

Result<std::vector<LeasedDevice>> narrow_pool(Backend backend, const std::vector<LeasedDevice>& pool,
                                              const Environment& caller, CallerOrdinals ordinals,
                                              Hierarchy hierarchy) {
  const auto mask = caller_mask(backend, caller);
  if (!mask) return pool;
  if (backend == Backend::kCuda) return narrow_cuda(pool, *mask, ordinals);
  return narrow_xpu(pool, *mask, ordinals, hierarchy);
}

}  // namespace proctor
