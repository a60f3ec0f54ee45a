#include "suites/visibility/control.h"

#include "suites/main/check.h"

namespace proctor::visibility {

const ChildRules& child_rules() {
  static const ChildRules rules{.owned = {kMask, kHierarchy, kPciOrder},
                                .defaults = {{kHierarchy, "COMPOSITE"}}};
  return rules;
}

Enumeration control() {
  auto seen = enumerate();
  if (seen.devices.empty()) suite::skip("no_device");
  return seen;
}

IdentityKind identity_kind(const Enumeration& control) {
  if (has_pci_identity(control)) return IdentityKind::kPci;
  if (control.devices.size() < 2) return IdentityKind::kNone;
  // Intel's no-hardware mode numbers UUIDs behind the mask: card 1 alone then has the UUID of card 0.
  const auto second = enumerate({{kMask, "1"}});
  const bool stable = second.devices.size() == 1 && second.devices[0].uuid == control.devices[1].uuid;
  return stable ? IdentityKind::kUuid : IdentityKind::kNone;
}

}  // namespace proctor::visibility
