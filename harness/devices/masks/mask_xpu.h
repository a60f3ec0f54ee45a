// ZE_AFFINITY_MASK by the rules of the Level Zero specification (PROG.rst "Affinity Mask" and "Device
// Hierarchy"): the mask is a set, its order means nothing, an entry that names no device selects nothing.
// How Intel's driver reads values outside the grammar is in mask_xpu_driver.h.
//
// Grammar accepted here: entry *( "," entry ); entry = ordinal [ "." ordinal ]; blanks around entries; or the
// empty string, which means all.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/masks/mask.h"
#include "harness/devices/masks/mask_xpu_driver.h"

namespace proctor {

struct XpuMaskEntry {
  unsigned card = 0;  // under FLAT and COMBINED: the leaf device
  std::optional<unsigned> tile;
};

struct XpuMask {
  bool all = false;  // unset or ''
  std::vector<XpuMaskEntry> entries;
};

// The strict parser. An error is ErrorKind::kUsage and names the entry and its column.
Result<XpuMask> parse_xpu_mask(std::string_view value);

// The devices that `mask` leaves, in zeDeviceGet's order: ascending, whatever the order in the mask.
std::vector<XpuDevice> select_xpu(const XpuMask& mask, Hierarchy hierarchy, const Topology& topology);

// Without a topology only the syntax is judged. With one, a mask that selects nothing is refused, because
// Intel's 26.27 driver crashes on it; without a hierarchy it must select something under every hierarchy,
// because the default depends on the product.
MaskLint lint_xpu_mask(std::string_view value, std::optional<Hierarchy> hierarchy,
                       std::optional<Topology> topology);

}  // namespace proctor
