// Checks of the Level Zero calls that list devices. Their rules hold for every device mask.
#include <algorithm>
#include <functional>
#include <set>

#include "suites/main/check.h"
#include "suites/visibility/enumeration.h"
#include "suites/visibility/preconditions.h"

namespace proctor::visibility {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kDeviceGet = "Level Zero specification, zeDeviceGet";
constexpr const char* kInit = "Level Zero specification, zeInit";
constexpr const char* kTilesAreTheSame = "project rule: A tile has one identity in every hierarchy.";
constexpr const char* kValidationLayer = "libze_validation_layer.so.1";

const Variables kValidation = {{"ZE_ENABLE_VALIDATION_LAYER", "1"}, {"ZE_ENABLE_PARAMETER_VALIDATION", "1"}};

// The devices of FLAT: the sub-devices of each card, or the card itself if it has none.
std::vector<DeviceRecord> leaves_of(const nlohmann::json& answer) {
  const auto tiles = record(answer, "tiles").devices;
  std::vector<DeviceRecord> leaves;
  for (const auto& card : record(answer, "seen").devices) {
    const auto before = leaves.size();
    std::ranges::copy_if(tiles, std::back_inserter(leaves),
                         [&card](const DeviceRecord& tile) { return tile.pci == card.pci; });
    if (leaves.size() == before) leaves.push_back(card);
  }
  return leaves;
}

// Calls `compare` for each tile, with a name for messages, the tile's record as a sub-device in COMPOSITE, and its
// record as a device in FLAT or COMBINED.
void at_each_tile(
    const std::function<void(const std::string&, const DeviceRecord&, const DeviceRecord&)>& compare) {
  const auto composite = control_with_tiles(1, 2);
  require_hierarchy(composite);
  require_pci(composite);
  step("given the sub-devices of the cards in COMPOSITE");
  const auto tiles = leaves_of(query_child({"tiles"}));
  for (const std::string hierarchy : {"FLAT", "COMBINED"}) {
    step("given the devices in " + hierarchy);
    const auto devices = enumerate({{kHierarchy, hierarchy}}).devices;
    expect_same("number of devices in " + hierarchy, std::to_string(tiles.size()),
                std::to_string(devices.size()));
    for (std::size_t i = 0; i < std::min(devices.size(), tiles.size()); ++i)
      compare("device " + std::to_string(i) + " in " + hierarchy, tiles[i], devices[i]);
  }
}

}  // namespace

PROCTOR_CHECK(Enumeration, RepeatedEnumerationGivesSameHandles, "V25", kDeviceGet, kGate,
              .faults = {"visibility.reorder_every_second_list", "visibility.shorten_every_second_list"}) {
  control();
  step("given a process that lists its devices twice");
  const auto answer = query_child({"twice"});

  expect_true(answer.at("same_handles").get<bool>(), "both lists have the same handles in the same order");
  expect_same("the second list", to_json(record(answer, "seen")).dump(),
              to_json(record(answer, "again")).dump());
}

PROCTOR_CHECK(Enumeration, TooLargeCountIsTrimmed, "V26", kDeviceGet, kGate,
              .faults = {"visibility.keep_oversized_count"}) {
  control();
  step("given room for four devices more than there are");
  const auto over = query_child({"counts"}).at("over");

  expect_same("zeDeviceGet returns", "ZE_RESULT_SUCCESS", over.at("result"));
  if (over.at("count") != over.at("devices")) {
    suite::report({.message = "zeDeviceGet left its count above the number of devices",
                   .expected = over.at("devices").dump(),
                   .got = over.at("count").dump(),
                   .reason = "count_not_trimmed"});
  }
}

PROCTOR_CHECK(Enumeration, TooSmallCountReturnsFirstDevice, "V26", kDeviceGet, kGate,
              .faults = {"visibility.reorder_every_second_list"}) {
  control_with_devices(2);
  step("given room for one device");
  const auto under = query_child({"counts"}).at("under");

  expect_same("zeDeviceGet returns", "ZE_RESULT_SUCCESS", under.at("result"));
  expect_same("the count", "1", under.at("count").dump());
  expect_true(under.at("same_first").get<bool>(), "the device is the first one of the whole list");
}

// Without the validation layer a driver may do anything with a null pointer (specification, Introduction, "Error
// Handling"). The check therefore requires the result only with the layer.
PROCTOR_CHECK(Enumeration, NullCountIsRejected, "V27", kDeviceGet, kGate) {
  control();
  step("given zeDeviceGet(driver, nullptr, nullptr) under the validation layer");
  const auto answer = query_child({"null-count"}, kValidation);

  if (!answer.at("validation_layer").get<bool>())
    suite::skip(std::string("library_missing:") + kValidationLayer);
  expect_same("zeDeviceGet returns", "ZE_RESULT_ERROR_INVALID_NULL_POINTER", answer.at("result"));
}

PROCTOR_CHECK(DeviceUuid, UuidsAreUnique, "V31", "Level Zero specification, ze_device_uuid_t", kGate,
              .faults = {"visibility.wrong_uuid", "visibility.duplicate_device"}) {
  const auto seen = control_with_devices(2);
  try_uuids(seen.devices, [] {
    const auto answer = Child({"sysman", ""}, {}).finish().answer;
    return answer && answer->contains("devices") ? managed_uuids(answer->at("devices")) : ManagedUuids();
  });
  std::set<std::string> uuids;
  for (const auto& device : seen.devices) {
    expect_true(uuids.insert(device.uuid).second, "no other device has UUID " + device.uuid);
  }
}

PROCTOR_CHECK(DeviceUuid, TileUuidsAreUnique, "V31", "Level Zero specification, ze_device_uuid_t", kGate,
              .faults = {"visibility.wrong_uuid", "visibility.duplicate_device"}) {
  control_with_tiles(1, 2);
  step("given the devices and their sub-devices");
  const auto answer = query_child({"tiles"});
  std::set<std::string> uuids;
  for (const char* list : {"seen", "tiles"}) {
    for (const auto& device : record(answer, list).devices) {
      if (!uuids.insert(device.uuid).second)
        suite::report(
            {.message = "two devices or sub-devices have UUID " + device.uuid, .reason = "uuid_repeated"});
    }
  }
}

// A tile has the same properties in every hierarchy, as a sub-device and as a device.
PROCTOR_CHECK(DeviceUuid, TileUuidsMatchInEveryHierarchy, "V31",
              "Level Zero programming guide, Device Hierarchy; Level Zero specification, ze_device_uuid_t",
              kGate, .faults = {"visibility.uuid_changes"}) {
  at_each_tile([](const std::string& which, const DeviceRecord& tile, const DeviceRecord& device) {
    expect_same("UUID of " + which, tile.uuid, device.uuid);
  });
}

PROCTOR_CHECK(DeviceProperties, TilePropertiesMatchInEveryHierarchy, "V31", kTilesAreTheSame, kWarn,
              .faults = {"visibility.wrong_pci_address:dev=1"}) {
  at_each_tile([](const std::string& which, const DeviceRecord& tile, const DeviceRecord& device) {
    expect_same("PCI address of " + which, tile.pci, device.pci);
    expect_same("memory of " + which, std::to_string(tile.memory_bytes), std::to_string(device.memory_bytes));
    expect_same("units of " + which, std::to_string(tile.execution_units),
                std::to_string(device.execution_units));
  });
}

PROCTOR_CHECK(DeviceUuid, UuidsMatchAcrossProcesses, "V31", "Level Zero specification, ze_device_uuid_t",
              kGate, .faults = {"visibility.uuid_changes"}) {
  step("given two processes under the same (no) mask");
  const auto first = control();
  const auto second = enumerate();

  expect_same("UUIDs in the second process", joined(identities(first, IdentityKind::kUuid)),
              joined(identities(second, IdentityKind::kUuid)));
}

PROCTOR_CHECK(DeviceProperties, EqualModelsHaveEqualProperties, "V32",
              "oneapi-src/level-zero-tests, test_device.cpp, DevicePropertiesTest", kWarn,
              .faults = {"visibility.name_empty:dev=1"}) {
  const auto seen = control_with_devices(2);
  for (const auto& device : seen.devices) {
    for (const auto& other : seen.devices) {
      if (device.vendor_id != other.vendor_id || device.device_id != other.device_id) continue;
      auto renamed = other;  // UUID and address differ between cards.
      renamed.uuid = device.uuid;
      renamed.pci = device.pci;
      expect_true(renamed == device,
                  "devices " + device.uuid + " and " + other.uuid + " have the same properties");
    }
  }
}

PROCTOR_CHECK(DeviceProperties, MaskDoesNotChangeProperties, "V33",
              "Level Zero programming guide, Affinity Mask: it affects the number of handles", kGate,
              .faults = {"visibility.understate_properties_under_mask"}) {
  const auto unmasked = control();
  const bool identified = has_pci_identity(unmasked);
  for (std::size_t i = 0; i < unmasked.devices.size(); ++i) {
    step("given mask " + std::to_string(i));
    const auto seen = enumerate({{kMask, std::to_string(i)}});
    if (seen.devices.size() != 1) {
      expect_same("number of devices under mask " + std::to_string(i), "1",
                  std::to_string(seen.devices.size()));
      continue;
    }
    auto expected = unmasked.devices[i];
    expected.driver = seen.devices[0].driver;  // An index among the drivers that still have a device.
    if (!identified) expected.uuid = seen.devices[0].uuid;
    Enumeration one = unmasked;
    one.devices = {expected};
    one.drivers = seen.drivers;
    one.driver_version = seen.driver_version;
    one.api = seen.api;
    expect_same_of(unmasked.devices[i], "device " + std::to_string(i) + " alone", to_json(one).dump(),
                   to_json(seen).dump());
  }
}

// A card with one remaining tile is reported as that tile, with the memory and execution units of that tile only.
PROCTOR_CHECK(DeviceProperties, TileMaskKeepsTileProperties, "V33",
              "Level Zero programming guide, Affinity Mask: the sub-device is reported as the device", kGate,
              .faults = {"visibility.understate_properties_under_mask"}) {
  const auto unmasked = control_with_tiles(1, 2);
  const auto tiles = record(query_child({"tiles"}), "tiles").devices;
  std::size_t at = 0;
  for (std::size_t card = 0; card < unmasked.devices.size(); ++card) {
    for (const std::uint32_t tile : unmasked.devices[card].sub_ids) {
      const std::string mask = std::to_string(card) + "." + std::to_string(tile);
      step("given mask " + mask);
      const auto seen = enumerate({{kMask, mask}}).devices;
      const auto& expected = tiles.at(at++);
      expect_same("number of devices", "1", std::to_string(seen.size()));
      if (seen.size() != 1) continue;
      expect_same("memory", std::to_string(expected.memory_bytes), std::to_string(seen[0].memory_bytes));
      expect_same("units", std::to_string(expected.execution_units), std::to_string(seen[0].execution_units));
      expect_same("PCI address", expected.pci, seen[0].pci);
    }
  }
}

// A mask must not change the UUIDs and numbers of the devices that it leaves. The specification renumbers the
// remaining tiles from 0; the rule here is that of Intel's driver.
PROCTOR_CHECK(DeviceProperties, MaskDoesNotRenumberTiles, "V33",
              "intel/compute-runtime, execution_environment.cpp parseAffinityMask", kWarn,
              .faults = {"visibility.understate_properties_under_mask", "visibility.mask_off_by_one"}) {
  const auto composite = control_with_tiles(1, 2);
  require_hierarchy(composite);
  step("given the devices in COMBINED");
  const auto whole = enumerate({{kHierarchy, "COMBINED"}});
  const bool identified = has_pci_identity(composite);
  for (std::size_t i = 0; i < whole.devices.size(); ++i) {
    step("given COMBINED and mask " + std::to_string(i));
    const auto seen = enumerate({{kHierarchy, "COMBINED"}, {kMask, std::to_string(i)}});
    auto expected = whole;
    expected.devices = {whole.devices[i]};
    if (!identified && seen.devices.size() == 1) {
      expected.devices[0].uuid = seen.devices[0].uuid;
      expected.devices[0].root = seen.devices[0].root;
    }
    expect_same("device " + std::to_string(i) + " alone", to_json(expected).dump(), to_json(seen).dump());
  }
}

PROCTOR_CHECK(Initialization, MissingDriverReturnsUninitialized, "V43",
              "oneapi-src/level-zero, README: ZE_ENABLE_ALT_DRIVERS", kGate) {
  control();
  step("given a loader that is configured to use a driver that does not exist");
  const auto seen = enumerate({{"ZE_ENABLE_ALT_DRIVERS", "libze_no_such_driver.so.1"}});

  expect_same("zeInit returns", "ZE_RESULT_ERROR_UNINITIALIZED", seen.init);
  expect_true(seen.devices.empty(), "no device is visible");
}

PROCTOR_CHECK(PeerAccess, DeviceCanAccessSelf, "V47", "Level Zero specification, zeDeviceCanAccessPeer",
              kGate, .faults = {"visibility.invert_peer_access"}) {
  const auto seen = control();
  step("given zeDeviceCanAccessPeer for every pair of devices");
  const auto peers = query_child({"peers"}).at("peers");
  expect_same("devices", std::to_string(seen.devices.size()), std::to_string(peers.size()));

  for (std::size_t i = 0; i < std::min(peers.size(), seen.devices.size()); ++i) {
    expect_same_of(seen.devices[i], "device " + std::to_string(i) + " to itself",
                   R"({"reachable":true,"result":"ZE_RESULT_SUCCESS"})", peers[i][i].dump());
    for (std::size_t j = 0; j < i; ++j) {
      if (peers[i][j] != peers[j][i]) {
        suite::warn("peer access between devices " + std::to_string(i) + " and " + std::to_string(j) +
                    " differs with the direction");
      }
    }
  }
}

PROCTOR_CHECK(
    DriverVersion, ApiAndDriverVersionsAreValid, "V49",
    "Level Zero specification, zeDriverGetApiVersion; Level Zero specification, ze_driver_properties_t: "
    "the version is not zero",
    kGate, .faults = {"visibility.version_zero"}) {
  const auto seen = control();

  expect_true(seen.api.starts_with("1."), "the driver implements Level Zero 1.x, got " + seen.api);
  expect_true(seen.driver_version != 0, "the driver's version is not zero");
}

// A driver handle exists per product family. Ordinals of the mask count through all driver handles
// (compute-runtime, Device::groupDevices).
PROCTOR_CHECK(DeviceMask, OrdinalsCountAcrossDrivers, "V41", "intel/compute-runtime, Device::groupDevices",
              kWarn) {
  const auto unmasked = control_with_devices(2);
  if (unmasked.drivers < 2) suite::skip("needs:drivers>=2");
  const auto kind = required_identity(unmasked);
  std::set<std::string> reached;
  for (std::size_t i = 0; i < unmasked.devices.size(); ++i) {
    step("given mask " + std::to_string(i));
    const auto seen = enumerate({{kMask, std::to_string(i)}});
    expect_same("devices under mask " + std::to_string(i), "1", std::to_string(seen.devices.size()));
    for (const auto& id : identities(seen, kind)) reached.insert(id);
  }
  expect_same("devices that some ordinal reaches", std::to_string(unmasked.devices.size()),
              std::to_string(reached.size()));
}

}  // namespace proctor::visibility
