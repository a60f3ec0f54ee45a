// Tests of the model of ZE_AFFINITY_MASK, and of its comparison with records.
#include "suites/visibility/mask_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

// check.h forbids TEST for checks. These are unit tests.
#undef TEST
#define TEST GTEST_TEST

namespace proctor::visibility {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Tiles = std::vector<std::vector<std::uint32_t>>;

const Tiles kTwoByTwo = {{0, 1}, {0, 1}};
const Tiles kTwoByFour = {{0, 1, 2, 3}, {0, 1, 2, 3}};
const Tiles kTwoPlain = {{}, {}};

Enumeration machine(const Tiles& tiles) {
  Enumeration seen;
  seen.init = "ZE_RESULT_SUCCESS";
  for (std::size_t card = 0; card < tiles.size(); ++card) {
    DeviceRecord device;
    device.pci = "0000:0" + std::to_string(card) + ":00.0";
    device.sub_ids = tiles[card];
    seen.devices.push_back(device);
  }
  return seen;
}

TEST(SelectDevices, SelectsWholeCards) {
  EXPECT_THAT(select_devices("all", kTwoByTwo),
              ElementsAre(ExpectedDevice{0, {0, 1}}, ExpectedDevice{1, {0, 1}}));
  EXPECT_THAT(select_devices("none", kTwoByTwo), IsEmpty());
  EXPECT_THAT(select_devices("1", kTwoByTwo), ElementsAre(ExpectedDevice{1, {0, 1}}));
  EXPECT_THAT(select_devices("1", kTwoPlain), ElementsAre(ExpectedDevice{1, {}}));
}

TEST(SelectDevices, OrderAndRepetitionDoNotMatter) {
  EXPECT_EQ(select_devices("1,0,1", kTwoByTwo), select_devices("all", kTwoByTwo));
  EXPECT_EQ(select_devices("0.1,0.0", kTwoByTwo), select_devices("0", kTwoByTwo));
}

TEST(SelectDevices, IgnoresNonexistentDevices) {
  EXPECT_THAT(select_devices("8", kTwoByTwo), IsEmpty());
  EXPECT_THAT(select_devices("1.9", kTwoByTwo), IsEmpty());
  EXPECT_THAT(select_devices("0,92,1.54", kTwoByTwo), ElementsAre(ExpectedDevice{0, {0, 1}}));
}

TEST(SelectDevices, SingleTileIsDeviceWithoutTiles) {
  EXPECT_THAT(select_devices("0.1", kTwoByTwo), ElementsAre(ExpectedDevice{0, {}}));
  EXPECT_THAT(select_devices("0.0", kTwoPlain), ElementsAre(ExpectedDevice{0, {}}));
}

TEST(SelectDevices, TilesKeepTheirPhysicalIds) {
  EXPECT_THAT(select_devices("1.1,1.2", kTwoByFour), ElementsAre(ExpectedDevice{1, {1, 2}}));
  EXPECT_THAT(select_devices("0.2,1.3,1.0,0.3", kTwoByFour),
              ElementsAre(ExpectedDevice{0, {2, 3}}, ExpectedDevice{1, {0, 3}}));
}

TEST(SelectDevices, KeepsTileIdsOfHarvestedCard) {
  const Tiles harvested = {{1, 3}};
  EXPECT_THAT(select_devices("0", harvested), ElementsAre(ExpectedDevice{0, {1, 3}}));
}

// A way in which a driver can be wrong about '0,1.0'. The comparison must detect each.
struct WrongRecord {
  const char* name;
  void (*break_it)(Enumeration&);
  bool needs_identity;
};

class WrongRecords : public testing::TestWithParam<WrongRecord> {};

TEST_P(WrongRecords, AreDetected) {
  const auto control = machine(kTwoByTwo);
  const auto expected = select_devices("0,1.0", kTwoByTwo);
  Enumeration seen = control;
  seen.devices[1].sub_ids.clear();
  for (const auto kind : {IdentityKind::kNone, IdentityKind::kPci}) {
    ASSERT_EQ(expected_text(expected, control, kind), seen_text(seen, kind))
        << "the right record is accepted";
  }
  GetParam().break_it(seen);
  EXPECT_NE(expected_text(expected, control, IdentityKind::kPci), seen_text(seen, IdentityKind::kPci));
  if (!GetParam().needs_identity) {
    EXPECT_NE(expected_text(expected, control, IdentityKind::kNone), seen_text(seen, IdentityKind::kNone));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongRecords,
    testing::Values(
        WrongRecord{"InitFails", [](Enumeration& seen) { seen.init = "ZE_RESULT_ERROR_UNINITIALIZED"; },
                    false},
        WrongRecord{"DeviceMissing", [](Enumeration& seen) { seen.devices.pop_back(); }, false},
        WrongRecord{"DeviceTwice", [](Enumeration& seen) { seen.devices.push_back(seen.devices[0]); }, false},
        WrongRecord{"TileMissing", [](Enumeration& seen) { seen.devices[0].sub_ids.pop_back(); }, false},
        WrongRecord{"TileTooMany",
                    [](Enumeration& seen) {
                      seen.devices[1].sub_ids = {0, 1};
                    },
                    false},
        WrongRecord{"OtherTile",
                    [](Enumeration& seen) {
                      seen.devices[0].sub_ids = {0, 2};
                    },
                    false},
        WrongRecord{"TilesReordered",
                    [](Enumeration& seen) {
                      seen.devices[0].sub_ids = {1, 0};
                    },
                    false},
        WrongRecord{"Reordered", [](Enumeration& seen) { std::swap(seen.devices[0], seen.devices[1]); },
                    false},
        WrongRecord{"OtherCard", [](Enumeration& seen) { seen.devices[0].pci = "0000:07:00.0"; }, true},
        WrongRecord{"CardsExchanged",
                    [](Enumeration& seen) { std::swap(seen.devices[0].pci, seen.devices[1].pci); }, true}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Texts, EmptySelectionMeansUninitializedError) {
  const auto control = machine(kTwoByTwo);
  EXPECT_EQ(expected_text({}, control, IdentityKind::kNone), "ZE_RESULT_ERROR_UNINITIALIZED");
  Enumeration seen;
  seen.init = "ZE_RESULT_SUCCESS";
  EXPECT_NE(expected_text({}, control, IdentityKind::kNone), seen_text(seen, IdentityKind::kNone));
}

TEST(TilesOfTopology, AreParsedForIntelCards) {
  EXPECT_EQ(tiles_of_topology("xpu:2x2"), (Tiles{{0, 1}, {0, 1}}));
  EXPECT_EQ(tiles_of_topology("xpu:1x1,cuda:4"), (Tiles{{}}));
  for (const char* other : {"cuda:4", "xpu:1x2+2x1", "xpu:2", "xpu:1x2x", "[[xpu]]"})
    EXPECT_EQ(tiles_of_topology(other), std::nullopt) << other;
}

TEST(MaskRows, AreUniqueAndReadable) {
  std::set<std::string> names;
  std::set<std::string> values;
  for (const MaskRow& row : mask_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(values.insert(row.value == nullptr ? "(unset)" : row.value).second) << row.name;
    const std::string selects = row.selects;
    const bool word = selects == "all" || selects == "none";
    EXPECT_TRUE(word || selects.find_first_not_of("0123456789.,") == std::string::npos) << row.name;
    EXPECT_STRNE(row.rule, "") << row.name;
    EXPECT_STRNE(row.source, "") << row.name;
  }
  EXPECT_EQ(names.size(), 63U);
}

}  // namespace
}  // namespace proctor::visibility
