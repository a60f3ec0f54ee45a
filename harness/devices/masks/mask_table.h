// The truth tables of both mask variables as data: what each value selects, what a driver does instead, how
// certain that is, and the source. The linter and the explainer are tested against every row; the explainer
// quotes them.
//
// Evidence marks:
//   S  the vendor's specification or documentation says it
//   T  an existing test suite asserts it
//   I  read in an implementation's source, may change with it
//   X  executed, on Intel's driver without hardware
//   F  inferred; to be run on hardware before anything relies on it
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "harness/devices/masks/mask.h"
#include "harness/devices/masks/mask_xpu_driver.h"

namespace proctor {

// What zeInit does instead of selecting devices, per driver version.
struct XpuHazards {
  DriverFate v22_43 = DriverFate::kSelects;
  DriverFate v26_27_composite = DriverFate::kSelects;
  DriverFate v26_27_flat = DriverFate::kSelects;
};

struct XpuMaskRow {
  int number;  // of the rule; several values may show one rule
  std::string_view slug;
  std::optional<std::string_view> value;  // nullopt: unset
  // What is left, as to_string(devices, topology) prints it; "nothing"; or "-" if the driver fails before
  // that. FLAT and COMBINED select the same.
  std::string_view composite;
  std::string_view flat;
  XpuHazards hazards;
  bool well_formed;  // the linter accepts it without a topology
  std::string_view evidence;
  std::string_view source;
  std::string_view note = "";
  Topology topology = {2, 4};
};

struct CudaMaskRow {
  int number;
  std::string_view slug;
  std::optional<std::string_view> value;
  int devices;                // how many the machine has, in PCI order
  std::string_view expected;  // in the order that CUDA gives them, or "nothing"
  bool well_formed;
  std::string_view evidence;
  std::string_view source;
  std::string_view note = "";
};

std::span<const XpuMaskRow> xpu_mask_table();
std::span<const CudaMaskRow> cuda_mask_table();

// The UUIDs of the machine that the rows with GPU- names are for: three devices, of which 0 and 2 share their
// first digits.
std::span<const std::string_view> table_uuids();

const XpuMaskRow* find_xpu_row(std::string_view value);
const CudaMaskRow* find_cuda_row(std::string_view value);

// One rule of a variable in words; the explainer prints those that a value uses.
struct MaskRule {
  std::string_view text;
  std::string_view evidence;
  std::string_view source;
};

namespace cuda_rules {
extern const MaskRule kEmpty, kOrder, kEnds, kNames, kMig, kMixed, kDuplicate, kTail, kPciOrder;
}
namespace xpu_rules {
extern const MaskRule kEmpty, kSet, kSkips, kHierarchy, kTile, kTileInFlat, kNothing, kNumbers, kEmptyEntry,
    kDots, kDefaultWord, kOrdinalsOnly;
}

}  // namespace proctor
