// Makes the environment of a child process: the devices that it sees, and the variables that it gets. A plan
// lists every change. All other variables of the caller stay: with CUDA_VISIBLE_DEVICES='' a user can hide
// the NVIDIA devices. masks/visibility_variables.h lists how each variable that selects devices is handled.
// The plan is applied last, so that no other variable can move a case to a device that it has not leased.
//
// The devices of one vendor are visible, those of the other are hidden:
//   CUDA        hidden by CUDA_VISIBLE_DEVICES='' (the guide: "empty string, no GPU devices are visible")
//   Level Zero  hidden by ZE_ENABLE_ALT_DRIVERS with a file that cannot exist: the loader finds no driver and zeInit
//               returns 0x78000001. A mask that selects nothing is not usable, because Intel's 26.27 driver crashes
//               on it. The mask '' is not usable either, because it selects all devices.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/backend.h"
#include "harness/base/result.h"
#include "harness/devices/masks/mask.h"
#include "harness/journal/events.h"

namespace proctor {

using Environment = std::map<std::string, std::string>;

// Reads `environ`. If a name is defined twice, the first definition applies, as in getenv.
Environment read_environment(const char* const* envp);
// Returns NAME=VALUE in sorted order, for ProcessSpec::env.
std::vector<std::string> to_list(const Environment& environment);

// A device as a case gets it: its names and ordinals in masks.
struct LeasedDevice {
  std::string id;    // "xpu:0000:03:00.0", "cuda:GPU-…"
  std::string uuid;  // CUDA: the name in masks, "GPU-…" or "MIG-…"
  std::string pci;
  int ordinal = -1;  // from a probe without a mask, with the hierarchy and PCI order of the child
  int tiles = 1;     // Level Zero, COMPOSITE: sub-devices of the card
  // Level Zero, COMPOSITE: the tiles of the card that the caller's own mask selects; empty: all.
  std::vector<int> only_tiles;
  // Level Zero, FLAT and COMBINED: the ordinal of its first tile, counted over all cards of the machine.
  int first_leaf = -1;
  std::uint64_t memory_bytes = 0;  // 0: unknown
};

// The form of entries in a CUDA mask: names or ordinals.
enum class MaskMode { kUuid, kIndex };
Result<MaskMode> parse_mask_mode(std::string_view text);

// One change of an environment variable, with its reason.
struct VariableChange {
  std::string name;
  std::optional<std::string> value;  // nullopt: unset
  std::string why;
};

// The devices that a child must see, and the form of its mask.
struct VisibilityRequest {
  Backend backend = Backend::kNone;
  std::vector<LeasedDevice> devices;
  MaskMode mode = MaskMode::kUuid;              // ignored for Level Zero, which has only ordinals
  Hierarchy hierarchy = Hierarchy::kComposite;  // Level Zero: the hierarchy of the child
  bool simulated_intel = false;                 // Intel's driver without hardware: no leases, no masks
  bool hierarchy_given = false;  // simulated_intel: use `hierarchy` instead of the driver's default
};

// Returns the changes for the request, and has no side effects. If no mask can express the lease, the result
// is an internal error. Such a lease has a device without a name or ordinal for the mode, or two devices with
// the same one.
Result<std::vector<VariableChange>> plan_visibility(const VisibilityRequest& request);
void apply(const std::vector<VariableChange>& plan, Environment& environment);

// Returns the variables that select devices in this environment, each with its origin: "proctor" (set or
// cleared by `plan`), "simulation", "caller", "suite", or "unset". The masks are always included, the other
// variables only if they have an origin. `simulated`: the names that a simulation sets.
std::vector<EnvironmentVariable> effective_variables(const Environment& child, const Environment& caller,
                                                     const std::vector<VariableChange>& plan,
                                                     const std::vector<std::string>& simulated);
// Returns one line for users about each variable of the caller that cases with devices do not get.
std::vector<std::string> describe_cleared(const Environment& caller);
// Returns a usage error if a variable of the caller makes the devices of the backend unusable.
Result<void> check_caller(Backend backend, const Environment& caller);

inline constexpr const char* kCudaOrderVariable = "CUDA_DEVICE_ORDER";
inline constexpr const char* kCudaPciOrder = "PCI_BUS_ID";
inline constexpr const char* kXpuOrderVariable = "ZE_ENABLE_PCI_ID_DEVICE_ORDER";
// Returns CUDA_VISIBLE_DEVICES or ZE_AFFINITY_MASK.
const char* mask_variable(Backend backend);

// Prepares the environment of a probe of the whole machine: no mask, the given hierarchy, PCI order. An
// ordinal of the probe means the same device in a child whose environment plan_visibility() made.
void unmask_xpu(Environment& environment, Hierarchy hierarchy);
void unmask_cuda(Environment& environment);
// Calls one of the two functions above, for Level Zero with COMPOSITE. Both also remove variables that would
// change or reorder the devices.
Environment unmasked(Backend backend, Environment environment);

// Returns the name, or the value, that a driver would use for a variable of the table. A driver reads such a
// variable under several names. nullopt: the variable is not set.
std::optional<std::string> name_in_force(std::string_view variable, const Environment& environment);
std::optional<std::string> value_in_force(std::string_view variable, const Environment& environment);
// Returns the effective mask in the caller's environment, or nullopt. Intel's driver also reads the name with
// the prefixes NEO_L0_ and NEO_, which take precedence.
std::optional<std::string> caller_mask(Backend backend, const Environment& caller);

// Returns the caller's ZE_FLAT_DEVICE_HIERARCHY, or nullopt if it is not set. A value that the driver would
// ignore is a usage error.
Result<std::optional<Hierarchy>> caller_hierarchy(const Environment& caller);

// Returns a usage error if the linter refuses the caller's mask: a driver may crash on it.
Result<void> check_mask(Backend backend, const std::string& mask);

// The order of the ordinals in the caller's CUDA mask: as in LeasedDevice, or unknown. The order is
// unknown if the caller sets another order than the probe, and no probe in that order succeeded.
enum class CallerOrdinals { kSameAsProbe, kUnknown };

// Returns the devices of the pool that the caller's CUDA mask selects. The pool is the whole machine, probed
// without a mask. An ordinal that cannot be translated is a usage error.
Result<std::vector<LeasedDevice>> narrow_cuda_pool(const std::vector<LeasedDevice>& pool,
                                                   const std::string& mask, CallerOrdinals ordinals);

// Returns the initial environment of a child. Visibility, the protocol's variables and the suite's own `env`
// are added later.
//   proctor kind    strict: fixed locale and time zone, allow-list, own TMPDIR (at most 30 characters,
//                   because of socket paths)
//   other kinds     the caller's environment, without rank variables and without channels to the CI system
Result<Environment> base_environment(bool strict, const Environment& caller, const std::string& tmpdir);

// The names of the strict allow-list and of the rank variables, for the reference page and for tests.
const std::vector<std::string>& strict_allow_list();
const std::vector<std::string>& rank_variables();
// Names of the files through which a process sets variables, PATH, outputs and summaries of the CI system.
// Tests do not get them.
const std::vector<std::string>& channel_variables();

}  // namespace proctor
