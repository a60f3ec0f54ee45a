// Models how Intel's Level Zero driver reads any value of ZE_AFFINITY_MASK, including malformed ones. It
// follows parseAffinityMask() (shared/source/execution_environment/execution_environment.cpp) and toUint32t()
// (shared/source/helpers/string_helpers.h) of intel/compute-runtime, in two versions:
//
//   22.43  has no hierarchy (always COMPOSITE); a mask that selects nothing: zeInit returns 0x78000001
//   26.27  all hierarchies; a mask that selects nothing: segmentation fault in zeInit
//          (since commit 1f524e9d1c)
//
// std::stoul(text, nullptr, 0) reads the numbers, which are then truncated to 32 bits. Leading blanks and a
// sign are allowed, 0x is hexadecimal, 0 is octal, and the tail is ignored. If the text does not begin with a
// number, or the number needs more than 64 bits, the exception ends the process. The driver drops an empty
// piece only at the end; an empty piece elsewhere crashes it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/devices/masks/mask.h"

namespace proctor {

// One device as zeDeviceGet returns it. Under COMPOSITE it is a card, under FLAT and COMBINED a tile.
struct XpuDevice {
  int card = 0;
  std::vector<int> tiles;  // its physical tiles, ascending; a whole card has all of them
  friend bool operator==(const XpuDevice&, const XpuDevice&) = default;

  // Returns the result of zeDeviceGetSubDevices: the tiles, or nothing if the card has only one tile.
  std::vector<int> sub_devices() const { return tiles.size() > 1 ? tiles : std::vector<int>{}; }
};

// Returns "0 1" for two whole cards, "0.2" for one tile, "1.{1,2}" for one card with two selected tiles, or
// "nothing".
std::string to_string(const std::vector<XpuDevice>& devices, const Topology& topology);

enum class IntelDriver { k22_43, k26_27 };  // NOLINT(readability-identifier-naming): releases
inline constexpr std::array kAllIntelDrivers = {IntelDriver::k22_43, IntelDriver::k26_27};
std::string_view to_string(IntelDriver driver);

// The result of zeInit under a mask.
enum class DriverFate {
  kSelects,        // zeInit succeeds, `devices` are visible
  kUninitialized,  // zeInit returns ZE_RESULT_ERROR_UNINITIALIZED (0x78000001)
  kSegfault,       // SIGSEGV inside zeInit
  kAbort,          // SIGABRT inside zeInit: an uncaught exception, or an internal check
};
std::string_view to_string(DriverFate fate);  // "selects", "uninitialized", "segfault", "abort"
inline bool is_crash(DriverFate fate) { return fate == DriverFate::kSegfault || fate == DriverFate::kAbort; }

// The behaviour of the driver under a mask.
struct DriverAnswer {
  DriverFate fate = DriverFate::kSelects;
  std::vector<XpuDevice> devices;
  bool selects_nothing = false;  // reason of the fate: the mask was read to its end and selects no device
};

// nullopt: the variable is not set.
DriverAnswer intel_answer(std::optional<std::string_view> value, IntelDriver driver, Hierarchy hierarchy,
                          const Topology& topology);

// Returns the number as the driver reads it, or nullopt if the driver throws.
std::optional<unsigned> intel_number(std::string_view text);

// Describes how each version reads `value`, one sentence for each different behaviour: "22.43: zeInit fails
// …". COMPOSITE and FLAT are both described if no hierarchy is given. Unusual entries come first: "'0x1' is
// read as 1".
std::vector<std::string> describe_intel(std::string_view value, std::optional<Hierarchy> hierarchy,
                                        const Topology& topology);

}  // namespace proctor
