// What a child without a mask sees of the whole machine through Level Zero. The hierarchy is COMPOSITE unless
// a check names another one.
#pragma once

#include <string>

#include "harness/base/words.h"
#include "suites/visibility/child_process.h"

namespace proctor::visibility {

inline constexpr const char* kMask = "ZE_AFFINITY_MASK";
inline constexpr const char* kHierarchy = "ZE_FLAT_DEVICE_HIERARCHY";
inline constexpr const char* kPciOrder = "ZE_ENABLE_PCI_ID_DEVICE_ORDER";

// All devices, no mask. Ends the check as skip(no_device) when there is none.
Enumeration control();

// What can tell devices apart on this machine, found by measurement.
IdentityKind identity_kind(const Enumeration& control);

// Conditions that many checks need before they can test anything. Each ends the check with a named skip if it
// is not met.

// The unmasked machine, with at least `devices` devices: else skip(needs:devices>=N).
Enumeration control_with_devices(std::size_t devices);
// ... of which each has at least `tiles` sub-devices: else skip(needs:tiles>=N).
Enumeration control_with_tiles(std::size_t devices, std::size_t tiles);
// How devices are told apart: else skip(no_identity).
IdentityKind required_identity(const Enumeration& control);
// ... by PCI address.
void require_pci(const Enumeration& control);
// The driver knows ZE_FLAT_DEVICE_HIERARCHY: else skip(unsupported:hierarchy).
void require_hierarchy(const Enumeration& control);
// ... and tells the root of a tile, as the loader does: else skip(symbol_missing:zeDeviceGetRootDevice).
void require_roots(const Enumeration& control);

// The canonical text of a record with and without identity, and of several identities.
std::string text_of(const Enumeration& seen, IdentityKind kind);

// "0,1,2" for n = 3.
std::string ordinals(std::size_t n);

}  // namespace proctor::visibility
