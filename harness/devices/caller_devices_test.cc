#include "harness/devices/caller_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/base/json.h"
#include "harness/devices/masks/mask_xpu.h"

namespace proctor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Three cards. The last one on the bus is the fastest.
constexpr const char* kFirst = "cuda:GPU-8932f937-0000-0000-0000-000000000000";
constexpr const char* kSecond = "cuda:GPU-8932f9aa-0000-0000-0000-000000000000";
constexpr const char* kFastest = "cuda:GPU-0a6b1c2d-0000-0000-0000-000000000000";

Device card(const std::string& id, int ordinal) {
  Device device;
  device.id = id;
  device.backend = "cuda";
  device.uuid = id.substr(5);
  device.ordinal = ordinal;
  return device;
}

const std::vector<Device> kInPciOrder = {card(kFirst, 0), card(kSecond, 1), card(kFastest, 2)};

Inventory fastest_first(const Environment& environment) {
  EXPECT_FALSE(environment.contains("CUDA_VISIBLE_DEVICES"));
  EXPECT_FALSE(environment.contains("CUDA_DEVICE_ORDER"));
  Inventory inventory;
  inventory.devices = {card(kFirst, 1), card(kSecond, 2), card(kFastest, 0)};
  return inventory;
}

Inventory never_probed(const Environment&) {
  ADD_FAILURE() << "the order is known already";
  return {};
}

std::vector<std::string> ids_of(const Result<std::vector<LeasedDevice>>& devices) {
  std::vector<std::string> ids;
  EXPECT_TRUE(devices) << devices.error().what;
  if (devices) {
    for (const auto& device : *devices) ids.push_back(device.id);
  }
  return ids;
}

TEST(CallerDevices, KeepsAllDevicesWithoutMask) {
  EXPECT_THAT(ids_of(caller_devices(Backend::kCuda, kInPciOrder, {}, never_probed)),
              ElementsAre(kFirst, kSecond, kFastest));
}

TEST(CallerDevices, EmptyMaskSelectsNoDevice) {
  EXPECT_THAT(
      ids_of(caller_devices(Backend::kCuda, kInPciOrder, {{"CUDA_VISIBLE_DEVICES", ""}}, never_probed)),
      IsEmpty());
}

TEST(CallerDevices, OrdinalsCountInTheCallersOrder) {
  const auto left =
      caller_devices(Backend::kCuda, kInPciOrder, {{"CUDA_VISIBLE_DEVICES", "1,0"}}, fastest_first);
  EXPECT_THAT(ids_of(left), ElementsAre(kFirst, kFastest));
  EXPECT_EQ(left->at(0).ordinal, 0) << "cases count in the probe's order";
  EXPECT_EQ(left->at(1).ordinal, 2);
}

TEST(CallerDevices, OrdinalsInPciOrderNeedNoProbe) {
  const Environment caller = {{"CUDA_VISIBLE_DEVICES", "2"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  EXPECT_THAT(ids_of(caller_devices(Backend::kCuda, kInPciOrder, caller, never_probed)),
              ElementsAre(kFastest));
}

TEST(CallerDevices, UuidPrefixesNeedNoProbe) {
  const Environment caller = {{"CUDA_VISIBLE_DEVICES", "GPU-0a6b,GPU-8932f9aa"}};
  EXPECT_THAT(ids_of(caller_devices(Backend::kCuda, kInPciOrder, caller, never_probed)),
              ElementsAre(kFastest, kSecond));
  const Environment ambiguous = {{"CUDA_VISIBLE_DEVICES", "GPU-8932f9"}};
  EXPECT_THAT(ids_of(caller_devices(Backend::kCuda, kInPciOrder, ambiguous, never_probed)), IsEmpty());
}

TEST(CallerDevices, RejectsOrdinalWhenProbeFails) {
  const DeviceProbe fails = [](const Environment&) {
    Inventory inventory;
    inventory.problem = "init:cudaErrorUnknown";
    return inventory;
  };
  const auto refused = caller_devices(Backend::kCuda, kInPciOrder, {{"CUDA_VISIBLE_DEVICES", "1"}}, fails);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(refused.error().hint, HasSubstr("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
}

TEST(CallerDevices, RejectsInvalidMask) {
  const auto refused =
      caller_devices(Backend::kCuda, kInPciOrder, {{"CUDA_VISIBLE_DEVICES", "all"}}, fastest_first);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("'all'"));
}

// ---- Level Zero ----

std::string uuid_of(int card, int tile) { return std::to_string(card) + "/" + std::to_string(tile); }

Device xpu_card(int number, int tiles) {
  Device device = card("xpu:" + std::to_string(number), number);
  device.backend = "xpu";
  device.uuid = uuid_of(number, -1);
  device.pci = "0000:0" + std::to_string(number) + ":00.0";
  device.tiles = tiles;
  for (int tile = 0; tiles > 1 && tile < tiles; ++tile) device.tile_uuids.push_back(uuid_of(number, tile));
  return device;
}

std::vector<Device> cards_of(const Topology& topology) {
  std::vector<Device> cards;
  for (int number = 0; number < topology.cards; ++number) cards.push_back(xpu_card(number, topology.tiles));
  return cards;
}

// A driver that numbers cards from the last one, unless the environment requires the order of PCI addresses.
class Driver {
 public:
  Driver(const Topology& topology, Hierarchy by_default) : topology_(topology), by_default_(by_default) {}

  Inventory operator()(const Environment& environment) const {
    const auto asked = caller_hierarchy(environment);
    const Hierarchy hierarchy = asked->value_or(by_default_);
    const auto mask = parse_xpu_mask(environment.at("ZE_AFFINITY_MASK"));
    const bool sorted = environment.contains("ZE_ENABLE_PCI_ID_DEVICE_ORDER");
    Inventory inventory;
    for (const XpuDevice& selected : select_xpu(*mask, hierarchy, topology_)) {
      const int number = sorted ? selected.card : topology_.cards - 1 - selected.card;
      Device device = xpu_card(number, topology_.tiles);
      device.tile_uuids.clear();
      for (const int tile : selected.sub_devices()) device.tile_uuids.push_back(uuid_of(number, tile));
      if (selected.tiles.size() == 1 && topology_.tiles > 1) device.uuid = uuid_of(number, selected.tiles[0]);
      inventory.devices.push_back(std::move(device));
    }
    if (inventory.devices.empty()) inventory.problem = "no_device";
    return inventory;
  }

  // Returns every tile that a process with this environment sees, as CARD/TILE.
  std::set<std::string> tiles(const Environment& environment) const {
    std::set<std::string> tiles;
    for (const Device& seen : (*this)(environment).devices) {
      if (topology_.tiles == 1)
        tiles.insert(uuid_of(seen.ordinal, 0));
      else if (seen.tile_uuids.empty())
        tiles.insert(seen.uuid);
      tiles.insert(seen.tile_uuids.begin(), seen.tile_uuids.end());
    }
    return tiles;
  }

 private:
  Topology topology_;
  Hierarchy by_default_;
};

Environment environment_of_case(const std::vector<LeasedDevice>& leased, Hierarchy hierarchy) {
  VisibilityRequest request;
  request.backend = Backend::kXpu;
  request.devices = leased;
  request.hierarchy = hierarchy;
  Environment environment;
  proctor::apply(*plan_visibility(request), environment);
  return environment;
}

// Cases see exactly the tiles that the caller's own processes see, for every mask, hierarchy and order.
TEST(CallerDevices, CasesSeeTilesOfXpuMask) {
  std::vector<Environment> callers = {{}, {{"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"}}};
  for (const Hierarchy hierarchy : kAllHierarchies) {
    for (int i = 0; i < 2; ++i) {
      callers.push_back(callers[static_cast<std::size_t>(i)]);
      callers.back()["ZE_FLAT_DEVICE_HIERARCHY"] = to_string(hierarchy);
    }
  }
  for (const Topology topology : {Topology{2, 1}, Topology{2, 2}, Topology{1, 2}}) {
    for (const Hierarchy by_default : {Hierarchy::kComposite, Hierarchy::kFlat}) {
      const Driver driver(topology, by_default);
      for (Environment caller : callers) {
        for (const char* mask : {"0", "1", "0.1", "0.0,1.1", "2", "9", "0,1,2,3"}) {
          caller["ZE_AFFINITY_MASK"] = mask;
          const auto left = caller_devices(Backend::kXpu, cards_of(topology), caller, driver);
          ASSERT_TRUE(left) << left.error().message();
          const auto wanted = driver.tiles(caller);
          EXPECT_EQ(left->empty(), wanted.empty()) << mask;
          for (const Hierarchy hierarchy : kAllHierarchies) {
            if (left->empty()) continue;
            EXPECT_EQ(driver.tiles(environment_of_case(*left, hierarchy)), wanted)
                << mask << " on " << to_string(topology) << ", case under " << to_string(hierarchy);
          }
        }
      }
    }
  }
}

// Two cards of two tiles. The devices of the driver are cards.
TEST(CallerDevices, MaskedTileLeasesWholeCard) {
  const Driver driver({2, 2}, Hierarchy::kComposite);
  const auto left = caller_devices(Backend::kXpu, cards_of({2, 2}), {{"ZE_AFFINITY_MASK", "0.1"}}, driver);
  EXPECT_THAT(ids_of(left), ElementsAre("xpu:1")) << "the driver counts from the last card";
  EXPECT_THAT(left->at(0).only_tiles, ElementsAre(1));
  EXPECT_EQ(left->at(0).first_leaf, 2);
  EXPECT_EQ(environment_of_case(*left, Hierarchy::kComposite).at("ZE_AFFINITY_MASK"), "1.1");
  EXPECT_EQ(environment_of_case(*left, Hierarchy::kFlat).at("ZE_AFFINITY_MASK"), "3");
}

TEST(CallerDevices, MatchesCardsWithoutAddressesByUuid) {
  std::vector<Device> cards = cards_of({2, 2});
  for (Device& device : cards) device.pci.clear();
  const DeviceProbe probe = [](const Environment&) {
    Inventory inventory;
    inventory.devices = {xpu_card(1, 1)};
    inventory.devices[0].pci.clear();
    inventory.devices[0].uuid = uuid_of(1, 0);
    return inventory;
  };
  const auto left = caller_devices(Backend::kXpu, cards, {{"ZE_AFFINITY_MASK", "0"}}, probe);
  EXPECT_THAT(ids_of(left), ElementsAre("xpu:1"));
  EXPECT_THAT(left->at(0).only_tiles, ElementsAre(0));
}

// The probe gets all of the caller's variables. An empty mask needs no probe.
TEST(CallerDevices, ProbesXpuMaskInCallerEnvironment) {
  const Environment caller = {
      {"NEO_ZE_AFFINITY_MASK", "1"}, {"ZEL_DRIVERS_ORDER", "1,0"}, {"ZE_AFFINITY_MASK", "0"}};
  const DeviceProbe probe = [&](const Environment& environment) {
    EXPECT_EQ(environment, caller);
    Inventory inventory;
    inventory.devices = {xpu_card(0, 2)};
    return inventory;
  };
  EXPECT_THAT(ids_of(caller_devices(Backend::kXpu, cards_of({2, 2}), caller, probe)), ElementsAre("xpu:0"));
  EXPECT_THAT(
      ids_of(caller_devices(Backend::kXpu, cards_of({2, 2}), {{"ZE_AFFINITY_MASK", ""}}, never_probed)),
      ElementsAre("xpu:0", "xpu:1"));
}

TEST(CallerDevices, FailedXpuProbeNamesMask) {
  Inventory answer;
  const auto asked = [&] {
    return caller_devices(Backend::kXpu, cards_of({2, 2}), {{"NEO_ZE_AFFINITY_MASK", "9"}},
                          [&](const Environment&) { return answer; });
  };
  answer.problem = "probe_timeout";
  answer.detail = "the driver did not respond within 15s";
  auto failed = asked();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::kSystem);
  EXPECT_THAT(failed.error().message(),
              AllOf(HasSubstr("NEO_ZE_AFFINITY_MASK=9 of the caller"),
                    HasSubstr("probe_timeout: the driver did not respond within 15s")));
  EXPECT_THAT(failed.error().hint, HasSubstr("xpu:0 with 2 tiles, xpu:1 with 2 tiles"));
  answer = {};
  answer.problem = "probe_crash:11";
  EXPECT_THAT(asked().error().what, HasSubstr("crashes if a mask names no device"));
  answer = {};
  answer.devices = {xpu_card(7, 2)};
  EXPECT_THAT(asked().error().what, HasSubstr("sees a device that a probe without the mask does not"));
  answer.devices = {xpu_card(1, 2)};
  answer.devices[0].tile_uuids = {uuid_of(1, 0), "changed"};
  EXPECT_FALSE(asked()) << "which tile is not known";
}

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kIds = {"xpu:0000:03:00.0", "xpu:0000:06:00.0"};

Device device(const std::string& backend, const std::string& id) {
  Device named;
  named.backend = backend;
  named.id = id;
  return named;
}

TEST(CtestResources, IdsUseCharactersAllowedByCtest) {
  EXPECT_EQ(ctest_resource_spec({device("cuda", "cuda:GPU-AB12")}).dump(),
            R"({"local":[{"cuda_gpus":[{"id":"cuda_gpu_ab12","slots":1}],)"
            R"("gpus":[{"id":"cuda_gpu_ab12","slots":1}]}],"version":{"major":1,"minor":0}})");
}

TEST(CtestResources, LimitsTestsToDevicesOfBackend) {
  const auto spec = ctest_resource_spec({device("xpu", kIds[0]), device("cuda", "cuda:GPU-AB12")});
  EXPECT_EQ(spec.dump(),
            R"({"local":[{"cuda_gpus":[{"id":"cuda_gpu_ab12","slots":1}],)"
            R"("xpu_gpus":[{"id":"xpu_0000_03_00_0","slots":1}]}],"version":{"major":1,"minor":0}})");
  EXPECT_THAT(**ctest_allocation({{"CTEST_RESOURCE_GROUP_0_XPU_GPUS", "id:xpu_0000_03_00_0,slots:1"}}, kIds),
              ElementsAre(kIds[0]));
}

TEST(CtestResources, WithoutAnAllocationAllDevicesAreAllowed) {
  EXPECT_EQ(*ctest_allocation({{"CTEST_RESOURCE_GROUP_COUNT", "0"}}, kIds), std::nullopt);
}

TEST(CtestResources, AllocatedDevicesAreFoundByName) {
  const Environment one = {{"CTEST_RESOURCE_GROUP_COUNT", "1"},
                           {"CTEST_RESOURCE_GROUP_0", "gpus"},
                           {"CTEST_RESOURCE_GROUP_0_GPUS", "id:xpu_0000_06_00_0,slots:1"}};
  EXPECT_THAT(**ctest_allocation(one, kIds), ElementsAre(kIds[1]));
  const Environment two = {
      {"CTEST_RESOURCE_GROUP_0_GPUS", "id:xpu_0000_06_00_0,slots:1;id:xpu_0000_03_00_0,slots:1"}};
  EXPECT_THAT(**ctest_allocation(two, kIds), ElementsAre(kIds[1], kIds[0]));
}

TEST(CtestResources, AnotherMachinesSpecificationIsRefused) {
  const auto refused = ctest_allocation({{"CTEST_RESOURCE_GROUP_0_GPUS", "id:0,slots:1"}}, kIds);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("no device '0'"));
}

}  // namespace
}  // namespace proctor
