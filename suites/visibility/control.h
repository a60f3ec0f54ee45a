// What a child without a mask sees of the whole machine through Level Zero. The hierarchy is COMPOSITE unless
// a check names another one.
#pragma once

#include "suites/visibility/child_process.h"

namespace proctor::visibility {

inline constexpr const char* kMask = "ZE_AFFINITY_MASK";
inline constexpr const char* kHierarchy = "ZE_FLAT_DEVICE_HIERARCHY";
inline constexpr const char* kPciOrder = "ZE_ENABLE_PCI_ID_DEVICE_ORDER";

// All devices, no mask. Ends the check as skip(no_device) when there is none.
Enumeration control();

// What can tell devices apart on this machine, found by measurement.
IdentityKind identity_kind(const Enumeration& control);

}  // namespace proctor::visibility
