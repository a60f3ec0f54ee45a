// ZE_FLAT_DEVICE_HIERARCHY: whether a card or its tiles are devices.
#include <algorithm>
#include <map>

#include "suites/main/check.h"
#include "suites/visibility/preconditions.h"

namespace proctor::visibility {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kInfo;
using suite::kWarn;
using suite::step;

constexpr const char* kHierarchySpec = "Level Zero programming guide, Device Hierarchy";
constexpr const char* kDriver = "intel/compute-runtime, test_l0_device.cpp, device hierarchy";

std::size_t leaves(const Enumeration& composite) {
  std::size_t count = 0;
  for (const auto& device : composite.devices) count += std::max<std::size_t>(1, device.sub_ids.size());
  return count;
}

Enumeration under(const char* hierarchy) {
  step(std::string("given ZE_FLAT_DEVICE_HIERARCHY=") + hierarchy);
  return enumerate({{kHierarchy, hierarchy}});
}

}  // namespace

PROCTOR_CHECK(Hierarchy, CountsFollowTheVariable, "V34", kHierarchySpec, kGate,
              .faults = {"visibility.wrong_subdevice_count", "visibility.hierarchy_ignored"}) {
  const auto composite = control();
  require_hierarchy(composite);
  const auto flat = under("FLAT").devices.size();
  const auto combined = under("COMBINED").devices.size();
  // A hierarchy that is not honoured hides its tiles from either side, never from both.
  if (leaves(composite) == composite.devices.size() && flat == leaves(composite))
    suite::skip("needs:tiles>=2");

  expect_same("devices in FLAT", std::to_string(leaves(composite)), std::to_string(flat));
  expect_same("devices in COMBINED", std::to_string(leaves(composite)), std::to_string(combined));
}

PROCTOR_CHECK(Hierarchy, FlatDevicesHaveNoRelatives, "V35", kHierarchySpec, kGate,
              .faults = {"visibility.root_device_wrong"}) {
  const auto composite = control_with_tiles(1, 2);
  require_roots(composite);

  for (const auto& device : under("FLAT").devices) {
    expect_same("sub-devices of " + device.uuid, "0", std::to_string(device.sub_ids.size()));
    expect_same("root of " + device.uuid, "", device.root);
  }
}

PROCTOR_CHECK(Hierarchy, FlatDevicesAreNoSubDevices, "V35", kDriver, kWarn,
              .faults = {"visibility.subdevice_flag_wrong"}) {
  require_hierarchy(control_with_tiles(1, 2));
  for (const auto& device : under("FLAT").devices)
    expect_true(!device.is_sub_device, device.uuid + " is not flagged as a sub-device");
}

PROCTOR_CHECK(Hierarchy, CombinedTilesShareTheirRoot, "V36", kHierarchySpec, kGate,
              .faults = {"visibility.root_device_wrong"}) {
  const auto composite = control_with_tiles(1, 2);
  require_roots(composite);

  std::map<std::string, std::size_t> tiles_under;
  for (const auto& device : under("COMBINED").devices) {
    expect_true(!device.root.empty() || !device.is_sub_device,
                device.uuid + " has a root when it is a sub-device");
    if (!device.root.empty()) ++tiles_under[device.root];
  }
  for (const auto& card : composite.devices) {
    if (card.sub_ids.empty()) continue;
    expect_same("tiles with root " + card.uuid, std::to_string(card.sub_ids.size()),
                std::to_string(tiles_under[card.uuid]));
  }
}

// An entry of two levels names nothing where there is but one, whatever else the list names.
PROCTOR_CHECK(Hierarchy, FlatIgnoresTileEntries, "V37", kDriver, kWarn,
              .faults = {"visibility.mask_ends_early"}) {
  require_hierarchy(control_with_tiles(1, 2));
  for (const char* hierarchy : {"FLAT", "COMBINED"}) {
    const auto selected_by = [&](const std::string& mask) {
      step(std::string("given ") + hierarchy + " and mask " + mask);
      return to_json(enumerate({{kHierarchy, hierarchy}, {kMask, mask}})).dump();
    };
    const auto first = selected_by("0");
    for (const char* mask : {"1.1,0", "0.1,0", "1.0,0", "0,1.0", "0,1.1"})
      expect_same(std::string("what ") + mask + " selects, against 0", first, selected_by(mask));
    const auto none = selected_by("4000");
    for (const char* mask : {"0.0", "0.1", "1.1", "0.0,1.1"})
      expect_same(std::string("what ") + mask + " selects, against nothing", none, selected_by(mask));
  }
}

// Every set of up to four leaves: by identity, in the order of the machine.
PROCTOR_CHECK(Hierarchy, FlatMaskSelectsLeaves, "V03", kHierarchySpec, kGate,
              .faults = {"visibility.mask_off_by_one", "visibility.ignore_mask"}) {
  const auto composite = control_with_tiles(1, 2);
  require_hierarchy(composite);
  const auto whole = under("FLAT");
  if (!has_pci_identity(composite)) suite::skip("no_identity");  // a UUID may then count behind the mask
  const std::size_t first = std::min<std::size_t>(whole.devices.size(), 4);
  for (std::size_t set = 1; set < std::size_t{1} << first; ++set) {
    std::string mask, expected;
    for (std::size_t leaf = 0; leaf < first; ++leaf) {
      if ((set >> leaf & 1) == 0) continue;
      mask = std::to_string(leaf) + (mask.empty() ? "" : "," + mask);  // the last comes first
      expected += (expected.empty() ? "" : " ") + whole.devices[leaf].uuid;
    }
    step("given FLAT and mask " + mask);
    const auto seen = enumerate({{kHierarchy, "FLAT"}, {kMask, mask}});
    expect_same("mask " + mask + " selects", expected, joined(identities(seen, IdentityKind::kUuid)));
  }
}

PROCTOR_CHECK(Hierarchy, UnknownValueIsTheDefault, "V39", kDriver, kWarn,
              .faults = {"visibility.uuid_changes"}) {
  require_hierarchy(control());
  step("given no hierarchy variable");
  const auto by_default = enumerate({{kHierarchy, std::nullopt}});

  for (const char* value : {"garbage", "composite", ""}) {
    expect_same(std::string("hierarchy '") + value + "' against the default", to_json(by_default).dump(),
                to_json(under(value)).dump());
  }
}

// The specification marks COMPOSITE as the default, Intel's driver takes FLAT on the Data Center GPU Max:
// recorded, and it must be one of the three.
PROCTOR_CHECK(Hierarchy, DefaultIsOneOfThree, "V40", kDriver, kInfo, .faults = {"visibility.uuid_changes"}) {
  const auto composite = control_with_tiles(1, 2);
  require_hierarchy(composite);
  const auto by_default = to_json(enumerate({{kHierarchy, std::nullopt}})).dump();

  std::string found;
  for (const char* value : {"COMPOSITE", "FLAT", "COMBINED"}) {
    if (to_json(under(value)).dump() == by_default) found = value;
  }
  expect_true(!found.empty(), "the default is one of the three hierarchies");
  suite::step("the default hierarchy is " + found);
}

}  // namespace proctor::visibility
