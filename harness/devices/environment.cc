#include "harness/devices/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/devices/masks/mask_cuda.h"
#include "harness/devices/masks/mask_xpu.h"
#include "harness/devices/masks/visibility_variables.h"

namespace proctor {
namespace {

constexpr const char* kXpuDriversVariable = "ZE_ENABLE_ALT_DRIVERS";
// This file can never exist, because no process can create a file below /proc.
constexpr const char* kNoDriver = "/proc/proctor/no-level-zero-driver.so";

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

// Adds CARD or CARD.TILE, for hierarchies in which cards are the devices.
void add_card(const LeasedDevice& device, std::vector<std::string>& entries) {
  const std::string ordinal = std::to_string(device.ordinal);
  if (device.only_tiles.empty()) entries.push_back(ordinal);
  for (const int tile : device.only_tiles) entries.push_back(ordinal + "." + std::to_string(tile));
}

// Adds the ordinals of tiles, counted over all cards, for hierarchies in which tiles are the devices.
void add_leaves(const LeasedDevice& device, std::vector<std::string>& entries) {
  std::vector<int> tiles = device.only_tiles;
  for (int tile = 0; device.only_tiles.empty() && tile < device.tiles; ++tile) tiles.push_back(tile);
  for (const int tile : tiles) entries.push_back(std::to_string(device.first_leaf + tile));
}

// Returns the mask in ascending order, because Level Zero ignores the order of entries.
Result<std::string> xpu_mask(std::vector<LeasedDevice> devices, Hierarchy hierarchy) {
  std::sort(devices.begin(), devices.end(),
            [](const auto& a, const auto& b) { return a.ordinal < b.ordinal; });
  const bool cards = hierarchy == Hierarchy::kComposite;
  std::vector<std::string> entries;
  for (const LeasedDevice& device : devices) {
    if ((cards ? device.ordinal : device.first_leaf) < 0) {
      return Error::internal("mask " + device.id + ": it has no ordinal under " +
                             std::string(to_string(hierarchy)));
    }
    if (cards) {
      add_card(device, entries);
    } else {
      add_leaves(device, entries);
    }
  }
  if (auto unique = check_unique(entries, kXpuMaskVariable); !unique) return unique.error();
  return joined(entries, ",");
}

// Clears all variables of the caller that affect the visible devices, for a case that sees devices. The
// values that the case needs are set afterwards.
std::vector<VariableChange> clear_all() {
  std::vector<VariableChange> plan;
  for (const VisibilityVariable& variable : visibility_variables()) {
    for (const std::string& name : all_names_of(variable)) {
      if (name != variable.name) {
        plan.push_back(
            {name, std::nullopt, "Intel's driver would read it before " + std::string(variable.name)});
      } else if (variable.caller != CallerValue::kNarrows && variable.caller != CallerValue::kDefault &&
                 variable.caller != CallerValue::kKept) {
        plan.push_back({name, std::nullopt, "it " + std::string(variable.why)});
      }
    }
  }
  return plan;
}

Result<std::vector<VariableChange>> plan_cuda(const VisibilityRequest& request) {
  auto mask = cuda_mask(request.devices, request.mode);
  if (!mask) return mask.error();
  std::vector<VariableChange> plan = clear_all();
  plan.push_back({kCudaMaskVariable, *mask, "the leased devices"});
  if (request.mode == MaskMode::kIndex) {
    plan.push_back({kCudaOrderVariable, kCudaPciOrder, "the ordinals are in PCI order"});
  }
  plan.push_back(hide_xpu());
  return plan;
}

Result<std::vector<VariableChange>> plan_xpu(const VisibilityRequest& request) {
  std::vector<VariableChange> plan = clear_all();
  const VariableChange hierarchy{kXpuHierarchyVariable, std::string(to_string(request.hierarchy)),
                                 "whether the mask counts cards or tiles"};
  if (request.simulated_intel && request.devices.empty()) {
    plan.push_back({kXpuMaskVariable, std::nullopt, "each process has a simulated topology of its own"});
    if (request.hierarchy_given) plan.push_back(hierarchy);
  } else {
    auto mask = xpu_mask(request.devices, request.hierarchy);
    if (!mask) return mask.error();
    plan.push_back({kXpuMaskVariable, *mask, "the leased devices"});
    plan.push_back(hierarchy);
    plan.push_back({kXpuOrderVariable, "1", "the ordinals are in PCI order, as in the probe"});
  }
  plan.push_back(hide_cuda());
  return plan;
}

bool is_mig(const LeasedDevice& device) { return device.uuid.starts_with("MIG-"); }

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
  return Error::refused("`mask` must be uuid or index (got " + in_quotes(text) + ")",
                        did_you_mean(text, {"uuid", "index"}));
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

std::vector<EnvironmentVariable> effective_variables(const Environment& child, const Environment& caller,
                                                     const std::vector<VariableChange>& plan,
                                                     const std::vector<std::string>& simulated) {
  std::vector<EnvironmentVariable> effective;
  for (const VisibilityVariable& variable : visibility_variables()) {
    for (const std::string& name : all_names_of(variable)) {
      const auto value = child.find(name);
      const auto before = caller.find(name);
      EnvironmentVariable entry{.name = name, .value = std::nullopt, .by = "none"};
      if (value == child.end()) {
        if (before != caller.end()) entry.by = "proctor";
      } else {
        entry.value = value->second;
        const bool planned = std::ranges::any_of(plan, [&](const VariableChange& change) {
          return change.name == name && change.value == entry.value;
        });
        const bool is_simulated = std::ranges::find(simulated, name) != simulated.end();
        const bool inherited = before != caller.end() && before->second == value->second;
        entry.by = is_simulated ? "simulation" : planned ? "proctor" : inherited ? "caller" : "suite";
      }
      const bool is_mask = variable.caller == CallerValue::kNarrows && name == variable.name;
      if (is_mask || entry.by != "none") effective.push_back(std::move(entry));
    }
  }
  return effective;
}

std::vector<std::string> describe_cleared(const Environment& caller) {
  std::vector<std::string> lines;
  for (const VisibilityVariable& variable : visibility_variables()) {
    const bool is_taken =
        variable.caller == CallerValue::kCleared || variable.caller == CallerValue::kReplaced;
    for (const std::string& name : all_names_of(variable)) {
      const auto found = caller.find(name);
      if (!is_taken || found == caller.end()) continue;
      const bool is_what_cases_get = name == kXpuOrderVariable && found->second == "1";
      if (is_what_cases_get) continue;
      lines.push_back(fmt::format("  {:<12} {}={} of the caller: it {}", to_string(variable.caller), name,
                                  found->second, variable.why));
    }
  }
  return lines;
}

Result<void> check_caller(Backend backend, const Environment& caller) {
  for (const VisibilityVariable& variable : visibility_variables()) {
    if (variable.backend != backend || variable.caller != CallerValue::kRefused) continue;
    for (const std::string& name : all_names_of(variable)) {
      if (!caller.contains(name)) continue;
      return Error::refused(fmt::format("{} of the caller is not supported: it {}", name, variable.why),
                            "Unset it, and select devices with " + std::string(mask_variable(backend)) + ".");
    }
  }
  return {};
}

namespace {

// Removes all variables of the backend, except those that keep the caller's value.
void drop_variables(Backend backend, Environment& environment) {
  for (const VisibilityVariable& variable : visibility_variables()) {
    if (variable.backend != backend) continue;
    for (const std::string& name : all_names_of(variable)) {
      if (name != variable.name || variable.caller != CallerValue::kKept) environment.erase(name);
    }
  }
}

}  // namespace

void unmask_xpu(Environment& environment, Hierarchy hierarchy) {
  drop_variables(Backend::kXpu, environment);
  environment[kXpuHierarchyVariable] = to_string(hierarchy);
  environment[kXpuOrderVariable] = "1";
}

void unmask_cuda(Environment& environment) {
  drop_variables(Backend::kCuda, environment);
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

std::optional<std::string> name_in_force(std::string_view variable, const Environment& environment) {
  for (const std::string& name : all_names_of(*find_visibility_variable(variable))) {
    if (environment.contains(name)) return name;
  }
  return std::nullopt;
}

std::optional<std::string> value_in_force(std::string_view variable, const Environment& environment) {
  const auto name = name_in_force(variable, environment);
  return name ? std::optional(environment.at(*name)) : std::nullopt;
}

std::optional<std::string> caller_mask(Backend backend, const Environment& caller) {
  if (backend == Backend::kNone) return std::nullopt;
  return value_in_force(mask_variable(backend), caller);
}

Result<std::optional<Hierarchy>> caller_hierarchy(const Environment& caller) {
  const auto value = value_in_force(kXpuHierarchyVariable, caller);
  if (!value || value->empty()) return std::optional<Hierarchy>();
  const auto hierarchy = parse_hierarchy(*value);
  if (hierarchy) return std::optional(*hierarchy);
  return Error::refused(
      std::string(kXpuHierarchyVariable) + " of the caller is not valid: " + hierarchy.error().what,
      hierarchy.error().hint);
}

Result<void> check_mask(Backend backend, const std::string& mask) {
  const MaskLint lint = backend == Backend::kCuda ? lint_cuda_mask(mask, std::nullopt)
                                                  : lint_xpu_mask(mask, std::nullopt, std::nullopt);
  if (lint.accepted()) return {};
  std::string why = lint.refused_whole;
  if (!lint.refusals.empty()) why = to_string(lint.refusals.front().entry) + " " + lint.refusals.front().why;
  return Error::refused(
      std::string(mask_variable(backend)) + " " + in_quotes(mask) + " of the caller is not valid: " + why,
      lint.suggestion);
}

Result<std::vector<LeasedDevice>> narrow_cuda_pool(const std::vector<LeasedDevice>& pool,
                                                   const std::string& mask, CallerOrdinals ordinals) {
  const bool by_name = mask.starts_with("GPU-") || mask.starts_with("MIG-");
  // Names are matched against the pool below. An unknown or ambiguous name therefore ends the list, as it
  // does in CUDA.
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
    return Error::usage("translate " + std::string(kCudaMaskVariable) + " " + in_quotes(mask) +
                            ": its ordinals may count devices in another order than the probe",
                        "Set CUDA_DEVICE_ORDER=PCI_BUS_ID too, or name the devices by GPU-UUID.");
  }
  std::vector<LeasedDevice> left;
  for (const CudaDevice& chosen : selection.devices) {
    if (by_name && chosen.ordinal) {
      left.push_back(
          // the ordinal of select_cuda is an index into `gpus`
          *gpus[static_cast<std::size_t>(*chosen.ordinal)]);
      continue;
    }
    for (const LeasedDevice& device : pool) {
      if (chosen.ordinal ? device.ordinal == *chosen.ordinal : device.uuid == chosen.name)
        left.push_back(device);
    }
  }
  return left;
}

// ---- The environment from which a child starts ----

namespace {

constexpr std::size_t kMaxTmpdir = 30;

}  // namespace

const std::vector<std::string>& strict_allow_list() {
  static const std::vector<std::string> kNames = {
      // Locations of programs, libraries and the user's files.
      "PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "ONEAPI_ROOT",
      // The driver that the Level Zero loader uses belongs to the setup. A hidden vendor overrides it later.
      "ZE_ENABLE_ALT_DRIVERS",
      // Layers of the loader between program and driver: they check, trace and log, and change no device.
      // Source: oneapi-src/level-zero, README.md and source/layers/validation/README.md.
      "ZE_ENABLE_LOADER_INTERCEPT", "ZE_ENABLE_LOADER_DEBUG_TRACE", "ZE_ENABLE_TRACING_LAYER",
      "ZET_ENABLE_API_TRACING_EXP", "ZE_ENABLE_VALIDATION_LAYER", "ZE_ENABLE_PARAMETER_VALIDATION",
      "ZE_ENABLE_HANDLE_LIFETIME", "ZE_ENABLE_MEMORY_TRACKER", "ZE_ENABLE_THREADING_VALIDATION",
      "ZEL_ENABLE_BASIC_LEAK_CHECKER", "ZEL_ENABLE_CERTIFICATION_CHECKER", "ZEL_ENABLE_EVENTS_CHECKER",
      "ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER", "ZEL_ENABLE_LOADER_LOGGING", "ZEL_LOADER_LOGGING_LEVEL",
      "ZEL_LOADER_LOG_CONSOLE", "ZEL_LOADER_LOG_DIR", "ZEL_LOADER_LOG_FILE", "ZEL_LOADER_LOG_PATTERN",
      // Locations of the collectives libraries of the suites.
      "PROCTOR_ONECCL_LIBRARY", "PROCTOR_NCCL_LIBRARY",
      // Sanitizers of the suites.
      "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "ASAN_SYMBOLIZER_PATH"};
  return kNames;
}

const std::vector<std::string>& rank_variables() {
  static const std::vector<std::string> kNames = {
      // torchrun
      "RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE",
      "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
      // Open MPI, and the process managers of MPICH and Intel MPI
      "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_NODE_RANK",
      "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "PMI_FD",
      "PMI_PORT", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
      // Slurm
      "SLURM_PROCID", "SLURM_LOCALID"};
  return kNames;
}

const std::vector<std::string>& channel_variables() {
  static const std::vector<std::string> kNames = {
      // GitHub Actions, and other programs that run its workflows
      "GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY",
      "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
      // Buildkite
      "BUILDKITE_AGENT_ACCESS_TOKEN", "BUILDKITE_AGENT_JOB_API_SOCKET", "BUILDKITE_AGENT_JOB_API_TOKEN",
      "BUILDKITE_ENV_FILE",
      // AppVeyor, Bitbucket, Bitrise, Cirrus, Drone, Google Cloud Build
      "APPVEYOR_API_URL", "BITBUCKET_PIPELINES_VARIABLES_PATH", "ENVMAN_ENVSTORE_PATH", "CIRRUS_ENV",
      "DRONE_CARD_PATH", "DRONE_OUTPUT", "BUILDER_OUTPUT"};
  return kNames;
}

Result<Environment> base_environment(bool strict, const Environment& caller, const std::string& tmpdir) {
  if (!strict) {
    Environment environment = caller;
    for (const auto* names : {&rank_variables(), &channel_variables()}) {
      for (const std::string& name : *names) environment.erase(name);
    }
    return environment;
  }
  if (tmpdir.empty() || tmpdir.front() != '/' || tmpdir.size() > kMaxTmpdir) {
    return Error::internal("use TMPDIR '" + tmpdir + "': expected an absolute path of at most " +
                           std::to_string(kMaxTmpdir) + " characters");
  }
  Environment environment;
  for (const std::string& name : strict_allow_list()) {
    if (const auto found = caller.find(name); found != caller.end()) environment.insert(*found);
  }
  environment["LC_ALL"] = "C.UTF-8";
  environment["TZ"] = "UTC";
  environment["TMPDIR"] = tmpdir;
  return environment;
}

}  // namespace proctor
