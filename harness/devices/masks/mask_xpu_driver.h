// How Intel's Level Zero driver reads any value of ZE_AFFINITY_MASK, also a malformed one. A model of
// parseAffinityMask() (shared/source/execution_environment/execution_environment.cpp) and toUint32t()
// (shared/source/helpers/string_helpers.h) of intel/compute-runtime, for two versions:
//
//   22.43  knows no hierarchy (always COMPOSITE); a mask that selects nothing: zeInit returns 0x78000001
//   26.27  all hierarchies; a mask that selects nothing: segmentation fault in zeInit
//          (since commit 1f524e9d1c)
//
// Numbers are read by std::stoul(text, nullptr, 0) and cut to 32 bits: leading blanks and a sign are
// allowed, 0x is hexadecimal, 0 is octal, the tail is ignored, and if no number begins there or the number
// needs more than 64 bits, the exception ends the process. Splitting drops an empty piece at the end only; an
// empty piece elsewhere crashes.
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
  std::vector<int> tiles;  // physical tiles that it stands for, ascending; a whole card has all of them
  friend bool operator==(const XpuDevice&, const XpuDevice&) = default;

  // What zeDeviceGetSubDevices returns: the tiles, unless there is only one (the card collapses into it).
  std::vector<int> sub_devices() const { return tiles.size() > 1 ? tiles : std::vector<int>{}; }
};

// "0 1" two whole cards; "0.2" one tile; "1.{1,2}" one card with two tiles left; "nothing".
std::string to_string(const std::vector<XpuDevice>& devices, const Topology& topology);

enum class IntelDriver { k22_43, k26_27 };  // NOLINT(readability-identifier-naming): releases
inline constexpr std::array kAllIntelDrivers = {IntelDriver::k22_43, IntelDriver::k26_27};
std::string_view to_string(IntelDriver driver);

enum class DriverFate {
  kSelects,        // zeInit succeeds, `devices` are visible
  kUninitialized,  // zeInit returns ZE_RESULT_ERROR_UNINITIALIZED (0x78000001)
  kSegfault,       // SIGSEGV inside zeInit
  kAbort,          // SIGABRT inside zeInit: an exception that nobody catches, or an internal check
};
std::string_view to_string(DriverFate fate);  // "selects", "uninitialized", "segfault", "abort"
inline bool is_crash(DriverFate fate) { return fate == DriverFate::kSegfault || fate == DriverFate::kAbort; }

struct DriverAnswer {
  DriverFate fate = DriverFate::kSelects;
  std::vector<XpuDevice> devices;
  bool selects_nothing = false;  // the mask was read to its end and names no device: the reason of the fate
};

// nullopt: the variable is not set.
DriverAnswer intel_answer(std::optional<std::string_view> value, IntelDriver driver, Hierarchy hierarchy,
                          const Topology& topology);

// How the driver reads one number: the value, or nullopt where it throws.
std::optional<unsigned> intel_number(std::string_view text);

// How each version reads `value`, one sentence for each different answer: "22.43: zeInit fails …". Without a
// hierarchy, both COMPOSITE and FLAT are described. Unusual entries come first: "'0x1' is read as 1".
std::vector<std::string> describe_intel(std::string_view value, std::optional<Hierarchy> hierarchy,
                                        const Topology& topology);

}  // namespace proctor
