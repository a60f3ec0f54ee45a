#include "harness/base/backend.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

const DeviceIdentity kOne{"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "0000:03:00.0"};
const DeviceIdentity kTwo{"GPU-0a6b1c2d-0000-0000-0000-000000000000", "0000:AF:00.0"};

TEST(DeviceIdentity, AcceptsExactlyTheLeasedDevices) {
  EXPECT_TRUE(sees_what_is_leased({kOne}, {kOne}));
  EXPECT_TRUE(sees_what_is_leased({kOne, kTwo}, {kTwo, kOne}));
  EXPECT_FALSE(sees_what_is_leased({kOne}, {kTwo}));
  EXPECT_FALSE(sees_what_is_leased({kOne}, {kOne, kTwo})) << "another one is visible too";
  EXPECT_FALSE(sees_what_is_leased({kOne, kTwo}, {kOne})) << "one is hidden";
  EXPECT_FALSE(sees_what_is_leased({kOne}, {}));
}

TEST(DeviceIdentity, MatchesEverySpellingOfSameDevice) {
  EXPECT_TRUE(is_same_device(kOne, {"8932F937D72C4106C12F20BD9FAED9F6", ""}));
  EXPECT_TRUE(is_same_device(kTwo, {"", "0000:af:00.0"}));
  EXPECT_TRUE(is_same_device(kOne, {kOne.uuid, "0000:99:00.0"})) << "an address may be wrong";
  EXPECT_TRUE(is_same_device({"card", "0000:03:00.0"}, {"tile", "0000:03:00.0"}))
      << "tiles have the address of their card";
  EXPECT_FALSE(is_same_device({"", ""}, {"", ""}));
}

// The CUDA Runtime reports the UUID of a MIG instance without "MIG-".
TEST(DeviceIdentity, MatchesMigDeviceByOwnUuid) {
  const DeviceIdentity part{"MIG-11111111-aaaa-0000-0000-000000000000", "0000:03:00.0"};
  EXPECT_TRUE(is_part_of_card(part) && !is_part_of_card(kOne));
  EXPECT_TRUE(has_same_uuid(part, {"GPU-11111111-AAAA-0000-0000-000000000000", ""}));
  EXPECT_TRUE(has_same_uuid(part, {"11111111aaaa00000000000000000000", ""}));
  EXPECT_FALSE(has_same_uuid(part, {"MIG-22222222-aaaa-0000-0000-000000000000", "0000:03:00.0"}));
  EXPECT_FALSE(has_same_uuid({"", ""}, {"", ""}));
  EXPECT_TRUE(is_same_device(part, {"", "0000:03:00.0"}));
}

constexpr const char* kFirst = "         0          0 4294967295\n";

TEST(Perfmon, RequiresCapabilityInInitialNamespace) {
  EXPECT_TRUE(may_see_memory_use("Name:\tx\nCapEff:\t0000004000000000\n", kFirst)) << "CAP_PERFMON";
  EXPECT_TRUE(may_see_memory_use("CapEff:\t0000000000200000\n", kFirst)) << "CAP_SYS_ADMIN";
  EXPECT_TRUE(may_see_memory_use("CapEff:\t000001ffffffffff\n", kFirst));
  EXPECT_FALSE(may_see_memory_use("CapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n", kFirst));
  EXPECT_FALSE(may_see_memory_use("CapEff:\t000001bfffdfffff\n", kFirst)) << "all but these two";
  EXPECT_FALSE(may_see_memory_use("CapEff:\t000001ffffffffff\n", "         0       1000          1\n"));
}

TEST(Perfmon, RejectsUnreadableStatusOrUidMap) {
  EXPECT_FALSE(may_see_memory_use("", kFirst));
  EXPECT_FALSE(may_see_memory_use("CapEff:\t000001ffffffffff\n", ""));
}

}  // namespace
}  // namespace proctor
