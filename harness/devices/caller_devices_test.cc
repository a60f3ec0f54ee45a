#include "harness/devices/caller_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Three cards, of which the last on the bus is the fastest.
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

TEST(CallerDevices, WithoutAMaskAllAreThere) {
  EXPECT_THAT(ids_of(caller_devices(Backend::kCuda, kInPciOrder, {}, never_probed)),
              ElementsAre(kFirst, kSecond, kFastest));
}

TEST(CallerDevices, TheEmptyMaskLeavesNone) {
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

TEST(CallerDevices, OrdinalsInPciOrderNeedNoQuestion) {
  const Environment caller = {{"CUDA_VISIBLE_DEVICES", "2"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  EXPECT_THAT(ids_of(caller_devices(Backend::kCuda, kInPciOrder, caller, never_probed)),
              ElementsAre(kFastest));
}

TEST(CallerDevices, NamesNeedNoQuestionAndKeepTheirOrder) {
  const Environment caller = {{"CUDA_VISIBLE_DEVICES", "GPU-0a6b,GPU-8932f9aa"}};
  EXPECT_THAT(ids_of(caller_devices(Backend::kCuda, kInPciOrder, caller, never_probed)),
              ElementsAre(kFastest, kSecond));
  const Environment ambiguous = {{"CUDA_VISIBLE_DEVICES", "GPU-8932f9"}};
  EXPECT_THAT(ids_of(caller_devices(Backend::kCuda, kInPciOrder, ambiguous, never_probed)), IsEmpty());
}

TEST(CallerDevices, AnOrderThatNobodyTellsIsRefused) {
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

TEST(CallerDevices, AMaskThatIsNoneIsRefused) {
  const auto refused =
      caller_devices(Backend::kCuda, kInPciOrder, {{"CUDA_VISIBLE_DEVICES", "all"}}, fastest_first);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("'all'"));
}

TEST(CallerDevices, UnequalXpuCardsNeedTheOrderVariable) {
  std::vector<Device> cards = {card("xpu:a", 0), card("xpu:b", 1)};
  cards[1].device_id = 7;
  const Environment caller = {{"ZE_AFFINITY_MASK", "1"}};
  EXPECT_FALSE(caller_devices(Backend::kXpu, cards, caller, never_probed));
  const Environment ordered = {{"ZE_AFFINITY_MASK", "1"}, {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"}};
  EXPECT_THAT(ids_of(caller_devices(Backend::kXpu, cards, ordered, never_probed)), ElementsAre("xpu:b"));
  Environment contradicted = ordered;
  contradicted["NEO_ZE_ENABLE_PCI_ID_DEVICE_ORDER"] = "0";
  EXPECT_FALSE(caller_devices(Backend::kXpu, cards, contradicted, never_probed))
      << "the driver prefers that name";
  Environment reordered = ordered;
  reordered["ZEL_DRIVERS_ORDER"] = "1,0";
  EXPECT_FALSE(caller_devices(Backend::kXpu, cards, reordered, never_probed)) << "other drivers count first";
}

// Two cards of two tiles: what an ordinal names is fixed once the caller says what the devices are.
TEST(CallerDevices, TheHierarchyOfTheCallerSaysWhatItsMaskCounts) {
  std::vector<Device> cards = {card("xpu:a", 0), card("xpu:b", 1)};
  for (Device& device : cards) device.tiles = 2;
  Environment caller = {{"ZE_AFFINITY_MASK", "1,2"}};
  EXPECT_FALSE(caller_devices(Backend::kXpu, cards, caller, never_probed)) << "cards, or tiles?";
  caller["ZE_FLAT_DEVICE_HIERARCHY"] = "COMPOSITE";
  EXPECT_THAT(ids_of(caller_devices(Backend::kXpu, cards, caller, never_probed)), ElementsAre("xpu:b"));
  caller["ZE_FLAT_DEVICE_HIERARCHY"] = "FLAT";
  const auto flat = caller_devices(Backend::kXpu, cards, caller, never_probed);
  EXPECT_THAT(ids_of(flat), ElementsAre("xpu:a", "xpu:b"));
  EXPECT_THAT(flat->at(0).only_tiles, ElementsAre(1));
  EXPECT_THAT(flat->at(1).only_tiles, ElementsAre(0));
  EXPECT_EQ(flat->at(1).first_leaf, 2);
}

}  // namespace
}  // namespace proctor
