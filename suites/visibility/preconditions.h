// The unmasked machine through Level Zero, as a child sees it, and conditions that checks need. The hierarchy is
// COMPOSITE unless a check names another one.
#pragma once

#include <string>

#include "harness/base/words.h"
#include "suites/visibility/child_process.h"

namespace proctor::visibility {

inline constexpr const char* kMask = "ZE_AFFINITY_MASK";
inline constexpr const char* kHierarchy = "ZE_FLAT_DEVICE_HIERARCHY";
inline constexpr const char* kPciOrder = "ZE_ENABLE_PCI_ID_DEVICE_ORDER";

// Enumerates all devices without a mask. Ends the check as skip(no_device) if there is none.
Enumeration control();

// The identity by which devices of this machine can be distinguished, found by measurement.
IdentityKind identity_kind(const Enumeration& control);

// Conditions that many checks need. If a condition is not met, the function ends the check with a named skip.

// The unmasked machine, with at least `devices` devices; otherwise skip(needs:devices>=N).
Enumeration control_with_devices(std::size_t devices);
// The unmasked machine, with at least `devices` devices of at least `tiles` sub-devices each; otherwise
// skip(needs:tiles>=N).
Enumeration control_with_tiles(std::size_t devices, std::size_t tiles);
// The identity by which devices can be distinguished; otherwise skip(no_identity).
IdentityKind required_identity(const Enumeration& control);
// Requires that devices can be distinguished by PCI address; otherwise skip(no_identity).
void require_pci(const Enumeration& control);
// Requires that the driver supports ZE_FLAT_DEVICE_HIERARCHY; otherwise skip(unsupported:hierarchy).
void require_hierarchy(const Enumeration& control);
// Requires in addition that driver and loader report the root device of a tile; otherwise
// skip(symbol_missing:zeDeviceGetRootDevice).
void require_roots(const Enumeration& control);

// The canonical text of a record, with or without identity, and of several identities.
std::string text_of(const Enumeration& seen, IdentityKind kind);

// The ordinals 0 to n - 1 as a mask. Example: "0,1,2" for n = 3.
std::string ordinals(std::size_t n);

}  // namespace proctor::visibility
