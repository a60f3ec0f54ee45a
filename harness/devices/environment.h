// The environment of a child, built from an explicit plan: which devices it sees, and what else it may read.
// No variable of the caller is dropped as a side effect. On a machine with both vendors,
// CUDA_VISIBLE_DEVICES='' may be how the user keeps NVIDIA out, and without it the child would fall back to
// CUDA. What becomes of each variable that decides which devices are seen, one table says
// (masks/visibility_variables.h). It is applied after everything else, so that nothing moves a case to another
// device than the one that it has leased.
//
// The devices of one vendor are shown, those of the other are hidden:
//   CUDA        hidden by CUDA_VISIBLE_DEVICES='' (the guide: "empty string, no GPU devices are visible")
//   Level Zero  hidden by ZE_ENABLE_ALT_DRIVERS naming a file that cannot exist: the loader finds no
//               driver and zeInit returns 0x78000001. Never by a mask that selects nothing, because Intel's
//               26.27 driver crashes on it, and never by '', which means all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/result.h"
#include "harness/devices/masks/mask.h"
#include "harness/plan/plan.h"

namespace proctor {

using Environment = std::map<std::string, std::string>;

// Reads `environ`. If a name is defined twice, the first definition wins, as in getenv.
Environment read_environment(const char* const* envp);
// NAME=VALUE in sorted order, for ProcessSpec::env.
std::vector<std::string> to_list(const Environment& environment);

struct LeasedDevice {
  std::string id;    // "xpu:0000:03:00.0", "cuda:GPU-…"
  std::string uuid;  // CUDA: the mask name, "GPU-…" or "MIG-…"
  std::string pci;
  int ordinal =
      -1;         // from a probe without a mask, under the same hierarchy and PCI order that the child gets
  int tiles = 1;  // Level Zero, COMPOSITE: sub-devices of the card
  // Level Zero, COMPOSITE: the only tiles that the caller's own mask left of the card; empty: the whole card.
  std::vector<int> only_tiles;
  // Level Zero, FLAT and COMBINED: the ordinal of its first tile, counted over all cards of the machine.
  int first_leaf = -1;
  std::uint64_t memory_bytes = 0;  // 0: nobody knows
};

enum class MaskMode { kUuid, kIndex };
Result<MaskMode> parse_mask_mode(std::string_view text);

struct VariableChange {
  std::string name;
  std::optional<std::string> value;  // nullopt: unset
  std::string why;
};

struct VisibilityRequest {
  Backend backend = Backend::kNone;
  std::vector<LeasedDevice> devices;
  MaskMode mode = MaskMode::kUuid;              // Level Zero knows ordinals only and ignores it
  Hierarchy hierarchy = Hierarchy::kComposite;  // Level Zero: that of the child
  bool simulated_intel = false;  // Intel's driver without hardware: nothing is leased, nothing masked
  bool hierarchy_given = false;  // simulated_intel: not the driver's own default, but `hierarchy`
};

// A pure function. A lease that no mask can express is an internal error: a device lacks the name or the
// ordinal that the mode needs, or two devices have the same one.
Result<std::vector<VariableChange>> plan_visibility(const VisibilityRequest& request);
void apply(const std::vector<VariableChange>& plan, Environment& environment);

// What a child with this environment has of the variables that decide which devices it sees, and who says so:
// "proctor" (it set or cleared it, as in `plan`), "simulation", "caller", "suite", or "nobody". The masks are always
// among them, the others where anybody has said something. `simulated` are the names that a simulation sets.
std::vector<EnvironmentVariable> effective_variables(const Environment& child, const Environment& caller,
                                                     const std::vector<VariableChange>& plan,
                                                     const std::vector<std::string>& simulated);
// One line for people about each variable of the caller that cases with devices do not get.
std::vector<std::string> describe_cleared(const Environment& caller);
// A usage error if the caller has a variable by which the backend's devices cannot be used.
Result<void> check_caller(Backend backend, const Environment& caller);

inline constexpr const char* kCudaOrderVariable = "CUDA_DEVICE_ORDER";
inline constexpr const char* kCudaPciOrder = "PCI_BUS_ID";
inline constexpr const char* kXpuOrderVariable = "ZE_ENABLE_PCI_ID_DEVICE_ORDER";
// CUDA_VISIBLE_DEVICES or ZE_AFFINITY_MASK.
const char* mask_variable(Backend backend);

// The environment for a probe of the whole machine: no mask, the given hierarchy and PCI order. An ordinal
// that the probe finds means the same device to a child whose visibility plan_visibility() made.
void unmask_xpu(Environment& environment, Hierarchy hierarchy);
void unmask_cuda(Environment& environment);
// Calls the one of the two functions above that belongs to the backend; Level Zero is probed as COMPOSITE. Both also
// drop what would change or reorder what is there.
Environment unmasked(Backend backend, Environment environment);

// What a driver would read for one of the variables of the table, of all the names under which it looks, and under
// which of them. None: it is not set.
std::optional<std::string> name_in_force(std::string_view variable, const Environment& environment);
std::optional<std::string> value_in_force(std::string_view variable, const Environment& environment);
// The mask that is in force in the caller's environment, or nullopt. Intel's driver also reads the name with
// the prefixes NEO_L0_ and NEO_, and prefers them to the plain one.
std::optional<std::string> caller_mask(Backend backend, const Environment& caller);

// The caller's ZE_FLAT_DEVICE_HIERARCHY, or none when it is not set. A value that the driver does not know is a usage
// error: the driver would ignore it in silence.
Result<std::optional<Hierarchy>> caller_hierarchy(const Environment& caller);

// Whether the ordinals in the caller's mask count like those of LeasedDevice. They may not when the caller's
// variable for the order differs from that of the probe and the cards are not all alike, or when nobody says what
// the hierarchy is.
enum class CallerOrdinals { kSameAsProbe, kUnknown };

// The part of the pool that the caller's own mask leaves, never more. The pool is the whole machine as probed
// without a mask; `hierarchy` is the caller's. A mask that the linter refuses and ordinals that cannot be translated are usage errors.
Result<std::vector<LeasedDevice>> narrow_pool(Backend backend, const std::vector<LeasedDevice>& pool,
                                              const Environment& caller, CallerOrdinals ordinals,
                                              Hierarchy hierarchy);

// The environment that a child starts from. Visibility, the protocol's variables and the suite's own `env`
// are added to it.
//   proctor kind    strict: fixed locale and time zone, allow-list, own TMPDIR (at most 30 characters,
//                   because of socket paths)
//   foreign kinds   the caller's whole environment, without the rank variables of a job that the caller
//                   may be in, and without the channels to the CI system that it may be a step of
Result<Environment> base_environment(bool strict, const Environment& caller, const std::string& tmpdir);

// The names of the strict allow-list and of the rank variables, for the reference page and for tests.
const std::vector<std::string>& strict_allow_list();
const std::vector<std::string>& rank_variables();
// By which a process speaks to the CI system that runs it: what it writes there becomes variables, PATH, outputs and
// summaries of the steps that follow. A test has nothing to say there.
const std::vector<std::string>& channel_variables();

}  // namespace proctor
