// Tests of the comparison of a lease with the visible devices.
#include "suites/main/lease_check.h"

#include <gtest/gtest.h>

#include "suites/main/skipped.h"

namespace proctor::suite {
namespace {

const Identity kOne{"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "0000:03:00.0"};
const Identity kTwo{"GPU-0a6b1c2d-0000-0000-0000-000000000000", "0000:AF:00.0"};

std::string lease_of(const std::vector<Identity>& devices) {
  std::string text = "[";
  for (const Identity& device : devices) {
    text += (text == "[" ? "" : ",") + std::string(R"({"id":"x","uuid":")") + device.uuid + R"(","pci":")" +
            device.pci + R"("})";
  }
  return text + "]";
}

std::string difference(const std::vector<Identity>& leased, const std::vector<Identity>& seen) {
  return difference_from_lease(lease_of(leased), "[]", [&](bool) { return seen; });
}

TEST(LeaseCheck, VisibleDevicesMustEqualLease) {
  EXPECT_EQ(difference({kOne}, {kOne}), "");
  EXPECT_EQ(difference({kOne, kTwo}, {kTwo, kOne}), "");
  EXPECT_NE(difference({kOne}, {kTwo}), "");
  EXPECT_NE(difference({kOne}, {kOne, kTwo}), "") << "another one is visible too";
  EXPECT_NE(difference({kOne, kTwo}, {kOne}), "") << "one is hidden";
  EXPECT_NE(difference({kOne}, {}), "");
  EXPECT_EQ(difference({kOne}, {kTwo}), "this process sees 0000:AF:00.0 (" + kTwo.uuid +
                                            "), and has leased 0000:03:00.0 (" + kOne.uuid + ")");
}

// A driver without devices reports no_device. A missing library is not a difference.
TEST(LeaseCheck, NoDeviceIsADifference) {
  const auto none = [](bool) -> std::vector<Identity> { throw Skipped("no_device"); };
  EXPECT_NE(difference_from_lease(lease_of({kOne}), "[]", none), "");
  const auto no_library = [](bool) -> std::vector<Identity> {
    throw Skipped("library_missing:libze_loader.so.1");
  };
  EXPECT_THROW(difference_from_lease(lease_of({kOne}), "[]", no_library), Skipped);
}

TEST(LeaseCheck, MatchesDifferentSpellingsOfDevice) {
  EXPECT_EQ(difference({kOne}, {{"8932F937D72C4106C12F20BD9FAED9F6", ""}}), "");
  EXPECT_EQ(difference({kTwo}, {{"", "0000:af:00.0"}}), "");
  EXPECT_EQ(
      difference({{"", "0000:03:00.0"}}, {{"of a tile", "0000:03:00.0"}, {"of another", "0000:03:00.0"}}), "")
      << "tiles have the address of their card";
}

// The parts of a card share one address, so only the name shows that a part is not leased.
TEST(LeaseCheck, DistinguishesMigInstancesByUuid) {
  const Identity part{"MIG-11111111-0000-0000-0000-00000000000a", "0000:03:00.0"};
  const Identity other{"MIG-22222222-0000-0000-0000-00000000000b", "0000:03:00.0"};
  const auto difference_in_pool = [&](const std::string& seen) {
    bool asked = false;
    const auto said = difference_from_lease(lease_of({part}), lease_of({part, other}), [&](bool with_uuid) {
      asked = asked || with_uuid;
      return std::vector{Identity{seen, "0000:03:00.0"}};
    });
    EXPECT_TRUE(asked);
    return said;
  };
  EXPECT_EQ(difference_in_pool("1111111100000000000000000000000A"), "");
  EXPECT_NE(difference_in_pool("2222222200000000000000000000000b"), "");
  EXPECT_EQ(difference_in_pool("33333333000000000000000000000000"), "")
      << "how the runtime calls a part is not known here";
}

TEST(LeaseCheck, ComparesUuidWhenAddressDiffers) {
  int asked = 0;
  const auto said = difference_from_lease(lease_of({kOne}), "[]", [&](bool with_uuid) {
    ++asked;
    return std::vector{Identity{with_uuid ? kOne.uuid : "", "0000:99:00.0"}};
  });
  EXPECT_EQ(said, "");
  EXPECT_EQ(asked, 2);
}

// Devices of a simulation that each process creates for itself have no identity.
TEST(LeaseCheck, SkipsDevicesWithoutIdentity) {
  const auto never = [](bool) -> std::vector<Identity> {
    ADD_FAILURE() << "the driver was asked";
    return {};
  };
  for (const char* lease : {"", "[]", "null", R"([{"id":"xpu-sim:0","uuid":"","pci":""}])"})
    EXPECT_EQ(difference_from_lease(lease, "[]", never), "") << lease;
}

}  // namespace
}  // namespace proctor::suite
