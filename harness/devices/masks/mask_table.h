// The truth tables of both mask variables as data: the devices that each value selects, failures of drivers,
// the certainty, and the source. The linter and the explainer are tested against every row, and the explainer
// quotes the rows.
//
// Evidence marks:
//   S  stated in the vendor's specification or documentation
//   T  asserted by an existing test suite
//   I  read in an implementation's source, may change with it
//   X  executed, on Intel's driver without hardware
//   F  inferred; must be run on hardware before any code relies on it
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "harness/devices/masks/mask.h"
#include "harness/devices/masks/mask_xpu_driver.h"

namespace proctor {

// The failure of zeInit, if it does not select devices, per driver version.
struct XpuHazards {
  DriverFate v22_43 = DriverFate::kSelects;
  DriverFate v26_27_composite = DriverFate::kSelects;
  DriverFate v26_27_flat = DriverFate::kSelects;
};

// A row of the truth table of ZE_AFFINITY_MASK.
struct XpuMaskRow {
  int number;  // of the rule; several values may illustrate one rule
  std::string_view slug;
  std::optional<std::string_view> value;  // nullopt: unset
  // The selected devices, as to_string(devices, topology) prints them; "nothing"; or "-" if the driver fails
  // earlier. FLAT and COMBINED select the same devices.
  std::string_view composite;
  std::string_view flat;
  XpuHazards hazards;
  bool well_formed;  // the linter accepts it if no topology is known
  std::string_view evidence;
  std::string_view source;
  std::string_view note = "";
  Topology topology = {2, 4};
};

// A row of the truth table of CUDA_VISIBLE_DEVICES.
struct CudaMaskRow {
  int number;
  std::string_view slug;
  std::optional<std::string_view> value;
  int devices;                // number of devices of the machine, in PCI order
  std::string_view expected;  // in the order that CUDA uses, or "nothing"
  bool well_formed;
  std::string_view evidence;
  std::string_view source;
  std::string_view note = "";
};

std::span<const XpuMaskRow> xpu_mask_table();
std::span<const CudaMaskRow> cuda_mask_table();

// The UUIDs of the machine in the rows with GPU- names: three devices. Devices 0 and 2 have the same first
// digits.
std::span<const std::string_view> table_uuids();

const XpuMaskRow* find_xpu_row(std::string_view value);
const CudaMaskRow* find_cuda_row(std::string_view value);

// One rule of a variable as text. The explainer prints the rules that apply to a value.
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
