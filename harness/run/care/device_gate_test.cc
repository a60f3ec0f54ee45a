#include "harness/run/care/device_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "harness/core/temp_dir.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::Optional;

AttemptEnded ended_as(Outcome outcome) {
  AttemptEnded ended;
  ended.verdict.outcome = outcome;
  return ended;
}

TEST(Doubt, IsCastByHowAnAttemptEnded) {
  for (const Outcome outcome : kAllOutcomes) {
    const bool ended_early = outcome == Outcome::kTimeout || outcome == Outcome::kStall ||
                             outcome == Outcome::kCrash || outcome == Outcome::kDeviceLost;
    const bool bad = ended_early || outcome == Outcome::kFail || outcome == Outcome::kError;
    EXPECT_EQ(casts_doubt(ended_as(outcome), false), bad) << to_string(outcome);
    EXPECT_EQ(casts_doubt(ended_as(outcome), true), bad && outcome != Outcome::kFail) << to_string(outcome);
  }
}

TEST(Doubt, IsNotCastByWhatWasNeverStarted) {
  AttemptEnded refused = ended_as(Outcome::kError);
  refused.verdict.reason = "spawn:ENOENT";
  EXPECT_FALSE(casts_doubt(refused, false));
}

TEST(Doubt, IsCastByAFailureThatNamesTheLoss) {
  constexpr const char* kText = "zeMemAllocDevice: ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)";
  for (const Outcome outcome : {Outcome::kFail, Outcome::kError, Outcome::kPass}) {
    AttemptEnded printed = ended_as(outcome);
    printed.output.stderr_tail = kText;
    EXPECT_EQ(casts_doubt(printed, true), outcome != Outcome::kPass) << to_string(outcome);
    AttemptEnded reported = ended_as(outcome);
    reported.failures = {{"", kText, "", 0, "", "", ""}};
    EXPECT_EQ(casts_doubt(reported, true), outcome != Outcome::kPass) << to_string(outcome);
  }
}

// Two devices that other runs can see.
class Pool : public testing::Test {
 protected:
  void SetUp() override {
    auto leases = LeaseDirectory::open(directory_ + "/leases");
    ASSERT_TRUE(leases) << leases.error().what;
    leases_ = *std::move(leases);
  }

  DevicePool pool() const {
    PoolDevice a{.device = {"a", "xpu", "", false}, .shared = false};
    PoolDevice b{.device = {"b", "xpu", "", false}, .shared = false};
    return DevicePool({a, b}, leases_, "run");
  }
  void leave_dirty(const std::string& device) const {
    ASSERT_TRUE(leases_->take(device, {.run = "dead", .command = ""}));  // and never says that it is clean
  }

  TempDir scratch_;
  const std::string directory_ = scratch_.string();
  std::optional<LeaseDirectory> leases_;
};

TEST_F(Pool, WhatIsLeftOutIsGivenToNobodyAndSaysWhy) {
  DevicePool devices = pool();
  devices.leave_out("a", "a is in use: pid 7");
  EXPECT_THAT(devices.lease("xpu", 1, "case"), Optional(ElementsAre("b")));
  EXPECT_EQ(devices.lease("xpu", 1, "case"), std::nullopt);
  EXPECT_THAT(devices.held_elsewhere(), ElementsAre("a is in use: pid 7"));
}

TEST_F(Pool, WhatWasNotUsedStaysDirty) {
  leave_dirty("a");
  for (int i = 0; i < 2; ++i) {
    DevicePool devices = pool();
    ASSERT_THAT(devices.lease("xpu", 2, "case"), Optional(ElementsAre("a", "b")));
    EXPECT_NE(devices.left_dirty("a"), std::nullopt) << i;
    EXPECT_EQ(devices.left_dirty("b"), std::nullopt) << i;
    devices.return_unused({"a", "b"});
  }
}

TEST_F(Pool, WhatWasFoundWellIsNoLongerDirty) {
  leave_dirty("a");
  {
    DevicePool devices = pool();
    ASSERT_TRUE(devices.lease("xpu", 2, "case"));
    devices.found_well("a");
    EXPECT_EQ(devices.left_dirty("a"), std::nullopt);
    devices.return_unused({"a", "b"});
  }
  DevicePool devices = pool();
  ASSERT_TRUE(devices.lease("xpu", 2, "case"));
  EXPECT_EQ(devices.left_dirty("a"), std::nullopt);
  EXPECT_TRUE(devices.take_warnings().empty());
}

}  // namespace
}  // namespace proctor
