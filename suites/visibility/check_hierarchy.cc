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
constexpr const char* kDriver = "intel/compute-runtime test_l0_device.cpp, device hierarchy";

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
              .faults = {"visibility.subdevice_flag_wrong"}) {
  const auto composite = control_with_tiles(1, 2);
  require_hierarchy(composite);

  for (const auto& device : under("FLAT").devices) {
    expect_same("sub-devices of " + device.uuid, "0", std::to_string(device.sub_ids.size()));
    expect_same("root of " + device.uuid, "", device.root);
    expect_true(!device.is_sub_device, device.uuid + " is not flagged as a sub-device");
  }
}

PROCTOR_CHECK(Hierarchy, CombinedTilesShareTheirRoot, "V36", kHierarchySpec, kGate,
              .faults = {"visibility.root_device_wrong"}) {
  const auto composite = control_with_tiles(1, 2);
  require_hierarchy(composite);

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

PROCTOR_CHECK(Hierarchy, FlatIgnoresTileEntries, "V37", kHierarchySpec, kGate,
              .faults = {"visibility.mask_ends_early"}) {
  const auto composite = control_with_tiles(1, 2);
  require_hierarchy(composite);
  step("given FLAT and mask 0.0,0: the first entry is not valid there");
  const auto seen = enumerate({{kHierarchy, "FLAT"}, {kMask, "0.0,0"}});
  const auto first = enumerate({{kHierarchy, "FLAT"}, {kMask, "0"}});

  expect_same("what 0.0,0 selects, against 0", to_json(first).dump(), to_json(seen).dump());
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
