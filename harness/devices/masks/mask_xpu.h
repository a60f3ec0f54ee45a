// Reads ZE_AFFINITY_MASK by the rules of the Level Zero specification (PROG.rst "Affinity Mask" and "Device
// Hierarchy"). The mask is a set, so its order has no meaning. An entry that names no device selects nothing.
// mask_xpu_driver.h has the behaviour of Intel's driver for values outside the grammar.
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

// An entry of a mask: CARD or CARD.TILE.
struct XpuMaskEntry {
  unsigned card = 0;  // under FLAT and COMBINED: the leaf device
  std::optional<unsigned> tile;
};

// A parsed mask.
struct XpuMask {
  bool all = false;  // unset or ''
  std::vector<XpuMaskEntry> entries;
};

// The strict parser. An error is ErrorKind::kUsage and names the entry and its column.
Result<XpuMask> parse_xpu_mask(std::string_view value);

// Returns the devices that `mask` selects, in zeDeviceGet's order: ascending, regardless of the order in the
// mask.
std::vector<XpuDevice> select_xpu(const XpuMask& mask, Hierarchy hierarchy, const Topology& topology);

// If no topology is given, only the syntax is judged. With a topology, a mask that selects nothing is refused,
// because Intel's 26.27 driver crashes on it. If no hierarchy is given, the mask must select a device under every
// hierarchy, because the default depends on the product.
MaskLint lint_xpu_mask(std::string_view value, std::optional<Hierarchy> hierarchy,
                       std::optional<Topology> topology);

}  // namespace proctor
