// Checks of ZE_FLAT_DEVICE_HIERARCHY, which selects whether cards or tiles are devices, and of the order and
// identity of devices.
#include <algorithm>
#include <map>

#include "harness/journal/child_protocol.h"
#include "suites/main/check.h"
#include "suites/visibility/enumeration.h"
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

PROCTOR_CHECK(Hierarchy, FlatAndCombinedListEveryTile, "V34", kHierarchySpec, kGate,
              .faults = {"visibility.wrong_subdevice_count", "visibility.hierarchy_ignored"}) {
  const auto composite = control();
  require_hierarchy(composite);
  const auto flat = under("FLAT").devices.size();
  const auto combined = under("COMBINED").devices.size();
  // If the driver ignores the variable, one of the two enumerations still shows the tiles. If neither shows them,
  // the machine has no tiles.
  if (leaves(composite) == composite.devices.size() && flat == leaves(composite))
    suite::skip("needs:tiles>=2");

  expect_same("devices in FLAT", std::to_string(leaves(composite)), std::to_string(flat));
  expect_same("devices in COMBINED", std::to_string(leaves(composite)), std::to_string(combined));
}

PROCTOR_CHECK(Hierarchy, FlatDevicesLackRootAndTiles, "V35", kHierarchySpec, kGate,
              .faults = {"visibility.root_device_wrong"}) {
  const auto composite = control_with_tiles(1, 2);
  require_roots(composite);

  for (const auto& device : under("FLAT").devices) {
    expect_same("sub-devices of " + device.uuid, "0", std::to_string(device.sub_ids.size()));
    expect_same("root of " + device.uuid, "", device.root);
  }
}

PROCTOR_CHECK(Hierarchy, FlatDevicesLackSubdeviceFlag, "V35", kDriver, kWarn,
              .faults = {"visibility.subdevice_flag_wrong"}) {
  require_hierarchy(control_with_tiles(1, 2));
  for (const auto& device : under("FLAT").devices)
    expect_true(!device.is_sub_device, device.uuid + " is not flagged as a sub-device");
}

PROCTOR_CHECK(Hierarchy, CombinedTilesHaveCardAsRoot, "V36", kHierarchySpec, kGate,
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

// In FLAT and COMBINED an entry such as 0.1 selects nothing. It must not affect the other entries of the list.
PROCTOR_CHECK(Hierarchy, FlatAndCombinedIgnoreTileEntries, "V37", kDriver, kWarn,
              .faults = {"visibility.end_mask_at_invalid_entry"}) {
  require_hierarchy(control_with_tiles(1, 2));
  for (const char* hierarchy : {"FLAT", "COMBINED"}) {
    const auto selected_by = [&](const std::string& mask) {
      step(std::string("given ") + hierarchy + " and mask " + mask);
      return to_json(enumerate({{kHierarchy, hierarchy}, {kMask, mask}})).dump();
    };
    const auto first = selected_by("0");
    for (const char* mask : {"1.1,0", "0.1,0", "1.0,0", "0,1.0", "0,1.1"})
      expect_same(std::string("devices under mask ") + mask + ", compared with mask 0", first,
                  selected_by(mask));
    const auto none = selected_by("4000");
    for (const char* mask : {"0.0", "0.1", "1.1", "0.0,1.1"})
      expect_same(std::string("devices under mask ") + mask + ", compared with an unknown device", none,
                  selected_by(mask));
  }
}

// Selects every set of up to four tiles or cards. The result must have the same identities, in the order of the
// machine.
PROCTOR_CHECK(Hierarchy, FlatOrdinalsSelectMatchingTiles, "V03", kHierarchySpec, kGate,
              .faults = {"visibility.mask_off_by_one", "visibility.ignore_mask"}) {
  const auto composite = control_with_tiles(1, 2);
  require_hierarchy(composite);
  const auto whole = under("FLAT");
  // Without PCI addresses, a UUID can depend on the mask.
  if (!has_pci_identity(composite)) suite::skip("no_identity");
  const std::size_t first = std::min<std::size_t>(whole.devices.size(), 4);
  for (std::size_t set = 1; set < std::size_t{1} << first; ++set) {
    std::string mask, expected;
    for (std::size_t leaf = 0; leaf < first; ++leaf) {
      if ((set >> leaf & 1) == 0) continue;
      mask = std::to_string(leaf) + (mask.empty() ? "" : "," + mask);  // In reverse order.
      expected += (expected.empty() ? "" : " ") + whole.devices[leaf].uuid;
    }
    step("given FLAT and mask " + mask);
    const auto seen = enumerate({{kHierarchy, "FLAT"}, {kMask, mask}});
    expect_same("mask " + mask + " selects", expected, joined(identities(seen, IdentityKind::kUuid)));
  }
}

PROCTOR_CHECK(Hierarchy, UnknownValueUsesDefault, "V39", kDriver, kWarn,
              .faults = {"visibility.uuid_changes"}) {
  require_hierarchy(control());
  step("given no hierarchy variable");
  const auto by_default = enumerate({{kHierarchy, std::nullopt}});

  for (const char* value : {"garbage", "composite", ""}) {
    expect_same(std::string("hierarchy '") + value + "' against the default", to_json(by_default).dump(),
                to_json(under(value)).dump());
  }
}

// The specification marks COMPOSITE as the default. Intel's driver uses FLAT on the Data Center GPU Max. The
// default is recorded, and must be one of the three hierarchies.
PROCTOR_CHECK(Hierarchy, DefaultIsKnownHierarchy, "V40", kDriver, kInfo,
              .faults = {"visibility.uuid_changes"}) {
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

// Checks of the identity of devices: their order by PCI address, and their identity in the management interface.

namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kOrder = "Level Zero programming guide, ZE_ENABLE_PCI_ID_DEVICE_ORDER";
constexpr const char* kSysman = "Level Zero specification, zesDeviceGet: not affected by the affinity mask";

const Variables kInPciOrder = {{kPciOrder, "1"}};

// The devices of the management interface. Skips the check if neither the loader nor the driver has this
// interface.
nlohmann::json sysman_under(const Variables& variables, const std::vector<std::string>& uuids = {}) {
  const auto answer = query_child({"sysman", joined(uuids, ",")}, variables);
  if (!answer.contains("result"))
    suite::skip("symbol_missing:zesInit");  // Neither the loader nor the driver has it.
  if (answer.at("result") == "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE") suite::skip("unsupported:sysman");
  expect_same("zesInit returns", "ZE_RESULT_SUCCESS", answer.at("result"));
  return answer;
}

}  // namespace

PROCTOR_CHECK(DeviceOrder, LevelZeroPciOrderIsAscending, "V18", kOrder, kGate,
              .faults = {"visibility.pci_order_ignored"}) {
  const auto unmasked = control_with_devices(2);
  require_pci(unmasked);
  step("given ZE_ENABLE_PCI_ID_DEVICE_ORDER=1");
  const auto addresses = identities(enumerate(kInPciOrder), IdentityKind::kPci);

  auto sorted = addresses;
  std::sort(sorted.begin(), sorted.end());
  expect_same("PCI addresses in the order of enumeration", joined(sorted), joined(addresses));
  expect_true(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "no address is listed twice");
}

PROCTOR_CHECK(DeviceOrder, AffinityMaskOrdinalsFollowPciOrder, "V19", kOrder, kWarn,
              .faults = {"visibility.mask_off_by_one"}) {
  const auto unmasked = control_with_devices(2);
  require_pci(unmasked);
  for (const char* order : {"0", "1"}) {
    const auto whole = enumerate({{kPciOrder, order}});
    for (std::size_t i = 0; i < whole.devices.size(); ++i) {
      step(std::string("given order variable ") + order + " and mask " + std::to_string(i));
      const auto seen = enumerate({{kPciOrder, order}, {kMask, std::to_string(i)}});
      expect_same("mask " + std::to_string(i) + " under order variable " + order, whole.devices[i].pci,
                  joined(identities(seen, IdentityKind::kPci)));
    }
  }
}

PROCTOR_CHECK(PciAddress, AddressesAreUniqueAndStable, "V30",
              "Level Zero specification, PCI Properties extension", kGate,
              .faults = {"visibility.wrong_pci_address:dev=0", "visibility.uuid_changes"}) {
  step("given no mask");
  const auto unmasked = control();
  require_pci(unmasked);
  std::map<std::string, std::string> uuid_at;
  for (const auto& device : unmasked.devices) {
    expect_true(uuid_at.emplace(device.pci, device.uuid).second, "no other device is at " + device.pci);
  }
  for (std::size_t i = 0; i < unmasked.devices.size(); ++i) {
    step("given mask " + std::to_string(i));
    for (const auto& device : enumerate({{kMask, std::to_string(i)}}).devices) {
      expect_same_of(device, "UUID of the device at " + device.pci, uuid_at[device.pci], device.uuid);
    }
  }
}

PROCTOR_CHECK(Sysman, ListIgnoresMaskHierarchyAndOrder, "V23", kSysman, kGate,
              .faults = {"sysman.masked_by_affinity", "sysman.reverse_device_order"},
              .needs = {child::kManagementNeed}) {
  control_with_devices(2);
  step("given the management interface without a mask");
  const auto whole = sysman_under({}).at("devices");
  step("then it lists the same devices in the same order under mask 0, in FLAT, and with the order variable");
  expect_same("management devices under mask 0", whole.dump(),
              sysman_under({{kMask, "0"}}).at("devices").dump());
  expect_same("management devices in FLAT", whole.dump(),
              sysman_under({{kHierarchy, "FLAT"}}).at("devices").dump());
  expect_same("management devices in PCI order", whole.dump(),
              sysman_under(kInPciOrder).at("devices").dump());
}

PROCTOR_CHECK(Sysman, EachDeviceIsListedOnce, "V24", kSysman, kGate,
              .faults = {"sysman.wrong_pci_address", "sysman.wrong_uuid"},
              .needs = {child::kManagementNeed}) {
  step("given the devices of both interfaces");
  const auto unmasked = control();
  const auto managed = sysman_under({}).at("devices");
  require_pci(unmasked);
  for (const auto& device : unmasked.devices) {
    std::vector<std::string> twins;
    for (const auto& entry : managed) {
      if (entry.at("pci") == device.pci) twins.push_back(entry.at("uuid"));
    }
    expect_same_of(device, "UUIDs of the management devices at " + device.pci, device.uuid, joined(twins));
  }
}

PROCTOR_CHECK(Sysman, UuidsFindCardsAndTiles, "V70",
              "Level Zero specification, zesDriverGetDeviceByUuidExp; zes_device_properties_t numSubdevices",
              kWarn, .faults = {"sysman.wrong_uuid"}, .needs = {child::kManagementNeed}) {
  const auto answer = query_child({"tiles"});
  const auto cards = record(answer, "seen").devices;
  const auto tiles = record(answer, "tiles").devices;
  std::vector<std::string> uuids;
  for (const auto& device : cards) uuids.push_back(device.uuid);
  for (const auto& tile : tiles) uuids.push_back(tile.uuid);
  const std::string nobody = std::string(32, 'f');
  uuids.push_back(nobody);
  step("given the UUID of each card and of each tile, and one that no device has");
  const auto managed = sysman_under({}, uuids);
  const auto& devices = managed.at("devices");
  const auto expect_known = [&](const DeviceRecord& device, int tile) {
    if (!managed.contains("names")) return;
    const auto& found = managed.at("names").at(device.uuid);
    expect_same_of(device, "the tile that has the UUID " + device.uuid, std::to_string(tile),
                   found.at("tile").dump());
    const int place = found.at("device");
    expect_same_of(device, "its card's address", device.pci,
                   place < 0 ? "of no card" : devices[place].at("pci"));
  };
  std::size_t at = 0;
  for (const auto& card : cards) {
    expect_known(card, -1);
    for (const std::uint32_t tile : card.sub_ids) expect_known(tiles.at(at++), static_cast<int>(tile));
    const auto twin =
        std::ranges::find_if(devices, [&](const auto& one) { return one.at("uuid") == card.uuid; });
    expect_true(twin != devices.end(), "the card " + card.uuid + " is listed");
    if (twin == devices.end()) continue;
    expect_same("the number of its tiles", std::to_string(card.sub_ids.size()), twin->at("tiles").dump());
    expect_true(twin->at("tiles_with_memory") >= card.sub_ids.size(), "each tile has memory of its own");
  }
  if (managed.contains("names"))
    expect_true(managed.at("names").at(nobody).at("result") != "ZE_RESULT_SUCCESS",
                "a UUID that no device has is refused");
}

}  // namespace proctor::visibility
