// Which physical device is which: order by PCI address, and the management
// interface's view of the same devices.
#include <map>

#include "harness/journal/child_protocol.h"
#include "suites/main/check.h"
#include "suites/visibility/card_trials.h"
#include "suites/visibility/preconditions.h"

namespace proctor::visibility {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kOrder = "Level Zero programming guide, ZE_ENABLE_PCI_ID_DEVICE_ORDER";
constexpr const char* kSysman = "Level Zero specification, zesDeviceGet: not affected by the affinity mask";

const Variables kInPciOrder = {{kPciOrder, "1"}};

// The management interface's devices, with a skip where it cannot be asked.
nlohmann::json sysman_under(const Variables& variables, const std::vector<std::string>& uuids = {}) {
  const auto answer = query_child({"sysman", joined(uuids, ",")}, variables);
  if (!answer.contains("result"))
    suite::skip("symbol_missing:zesInit");  // neither in the loader nor in the driver
  if (answer.at("result") == "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE") suite::skip("unsupported:sysman");
  expect_same("zesInit returns", "ZE_RESULT_SUCCESS", answer.at("result"));
  return answer;
}

}  // namespace

PROCTOR_CHECK(Identity, PciOrderIsAscending, "V18", kOrder, kGate,
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

PROCTOR_CHECK(Identity, MaskFollowsTheOrderVariable, "V19", kOrder, kWarn,
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

PROCTOR_CHECK(Identity, PciAddressesAreDistinctAndStable, "V30",
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

PROCTOR_CHECK(Identity, ManagementIgnoresTheMask, "V23", kSysman, kGate,
              .faults = {"sysman.masked_by_affinity", "sysman.order"}, .needs = {child::kManagementNeed}) {
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

PROCTOR_CHECK(Identity, EveryDeviceHasOneManagementTwin, "V24", kSysman, kGate,
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

PROCTOR_CHECK(Identity, ManagementKnowsEachTile, "V70",
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
  step("given the UUID of each card and of each tile, and one that nothing has");
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
    expect_same("how many tiles it has", std::to_string(card.sub_ids.size()), twin->at("tiles").dump());
    expect_true(twin->at("tiles_with_memory") >= card.sub_ids.size(), "each tile has memory of its own");
  }
  if (managed.contains("names"))
    expect_true(managed.at("names").at(nobody).at("result") != "ZE_RESULT_SUCCESS",
                "nobody's UUID is refused");
}

}  // namespace proctor::visibility
