#include "suites/main/lease_check.h"

#include <gtest/gtest.h>

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
  return difference_from_lease(lease_of(leased), [&](bool) { return seen; });
}

TEST(LeaseCheck, WhatIsLeasedIsSeenAndNothingElse) {
  EXPECT_EQ(difference({kOne}, {kOne}), "");
  EXPECT_EQ(difference({kOne, kTwo}, {kTwo, kOne}), "");
  EXPECT_NE(difference({kOne}, {kTwo}), "");
  EXPECT_NE(difference({kOne}, {kOne, kTwo}), "") << "another one is visible too";
  EXPECT_NE(difference({kOne, kTwo}, {kOne}), "") << "one is hidden";
  EXPECT_NE(difference({kOne}, {}), "");
  EXPECT_EQ(difference({kOne}, {kTwo}), "this process sees 0000:AF:00.0 (" + kTwo.uuid +
                                            "), and has leased 0000:03:00.0 (" + kOne.uuid + ")");
}

TEST(LeaseCheck, DriversSpellADeviceInOtherWays) {
  EXPECT_EQ(difference({kOne}, {{"8932F937D72C4106C12F20BD9FAED9F6", ""}}), "");
  EXPECT_EQ(difference({kTwo}, {{"", "0000:af:00.0"}}), "");
  EXPECT_EQ(
      difference({{"", "0000:03:00.0"}}, {{"of a tile", "0000:03:00.0"}, {"of another", "0000:03:00.0"}}), "")
      << "tiles have the address of their card";
}

// Parts of one card have one address, so only their names tell them apart.
TEST(LeaseCheck, PartsOfACardAreToldApartByName) {
  const Identity part{"MIG-11111111-0000-0000-0000-000000000000", ""};
  const Identity other{"MIG-22222222-0000-0000-0000-000000000000", ""};
  EXPECT_EQ(difference({part}, {part}), "");
  EXPECT_NE(difference({part}, {other}), "");
  bool asked = false;
  difference_from_lease(lease_of({part}), [&](bool with_uuid) {
    asked = with_uuid;
    return std::vector{part};
  });
  EXPECT_TRUE(asked);
}

TEST(LeaseCheck, WhereAnAddressDiffersTheNameIsAsked) {
  int asked = 0;
  const auto said = difference_from_lease(lease_of({kOne}), [&](bool with_uuid) {
    ++asked;
    return std::vector{Identity{with_uuid ? kOne.uuid : "", "0000:99:00.0"}};
  });
  EXPECT_EQ(said, "");
  EXPECT_EQ(asked, 2);
}

// The devices of a simulation that each process makes for itself have no identity.
TEST(LeaseCheck, WithoutNamesNothingCanBeCompared) {
  const auto never = [](bool) -> std::vector<Identity> {
    ADD_FAILURE() << "the driver was asked";
    return {};
  };
  for (const char* lease : {"", "[]", "null", R"([{"id":"xpu-sim:0","uuid":"","pci":""}])"})
    EXPECT_EQ(difference_from_lease(lease, never), "") << lease;
}

}  // namespace
}  // namespace proctor::suite
