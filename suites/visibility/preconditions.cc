#include "suites/visibility/preconditions.h"

#include <cstdio>

#include "suites/main/check.h"
#include "suites/visibility/mask_model.h"

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
  // Intel's no-hardware mode numbers UUIDs after it applies the mask: card 1 alone then has the UUID of card 0.
  const auto second = enumerate({{kMask, "1"}});
  const bool stable = second.devices.size() == 1 && second.devices[0].uuid == control.devices[1].uuid;
  return stable ? IdentityKind::kUuid : IdentityKind::kNone;
}

namespace {

// ZE_FLAT_DEVICE_HIERARCHY and zeDeviceGetRootDevice exist since Level Zero 1.7. The simulator has both, although
// it reports an older version.
bool has_hierarchy(const std::string& api) {
  int major = 0;
  int minor = 0;
  return std::sscanf(api.c_str(), "%d.%d", &major, &minor) == 2 && (major > 1 || minor >= 7);
}

// Skips the check as skip(symbol_missing:SYMBOL) if the loader lacks `symbol`.
void require_symbol(const nlohmann::json& answer, const std::string& symbol) {
  for (const auto& missing : answer.at("missing_symbols")) {
    if (missing == symbol) suite::skip("symbol_missing:" + symbol);
  }
}

}  // namespace

Enumeration control_with_devices(std::size_t devices) {
  auto seen = control();
  if (seen.devices.size() < devices) suite::skip("needs:devices>=" + std::to_string(devices));
  return seen;
}

Enumeration control_with_tiles(std::size_t devices, std::size_t tiles) {
  auto seen = control_with_devices(devices);
  for (std::size_t i = 0; i < devices; ++i) {
    if (seen.devices[i].sub_ids.size() < tiles) suite::skip("needs:tiles>=" + std::to_string(tiles));
  }
  return seen;
}

IdentityKind required_identity(const Enumeration& control) {
  const auto kind = identity_kind(control);
  if (kind == IdentityKind::kNone) suite::skip("no_identity");
  return kind;
}

void require_pci(const Enumeration& control) {
  if (!has_pci_identity(control)) suite::skip("no_identity");
}

void require_hierarchy(const Enumeration& control) {
  if (!suite::on_simgpu() && !has_hierarchy(control.api)) suite::skip("unsupported:hierarchy");
}

void require_roots(const Enumeration& control) {
  require_symbol(query_child({"enumerate"}), "zeDeviceGetRootDevice");
  require_hierarchy(control);
}

std::string text_of(const Enumeration& seen, IdentityKind kind) { return seen_text(seen, kind); }

std::string ordinals(std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) text += (i == 0 ? "" : ",") + std::to_string(i);
  return text;
}

}  // namespace proctor::visibility
