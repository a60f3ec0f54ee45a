#include "harness/devices/health/drained.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/core/temp_dir.h"

namespace proctor {
namespace {

using testing::HasSubstr;

constexpr const char* kDrainedCard = "xpu:0000:03:00.0";

class DrainListTest : public testing::Test {
 protected:
  DrainList list() const { return DrainList(path_); }

  TempDir scratch_;
  const std::string path_ = scratch_.string();
};

TEST_F(DrainListTest, ADeviceIsOutUntilItIsUndrained) {
  EXPECT_FALSE(list().find(kDrainedCard));
  ASSERT_TRUE(list().drain(
      {.device = kDrainedCard, .reason = "lost", .evidence = "the driver says so", .run = "r1"}));
  const auto found = list().find(kDrainedCard);
  ASSERT_TRUE(found);
  EXPECT_THAT(describe(*found), HasSubstr("(lost, by run r1): the driver says so"));
  EXPECT_FALSE(list().find("xpu:0000:06:00.0"));
  ASSERT_EQ(list().list().size(), 1u);
  EXPECT_TRUE(*list().undrain(kDrainedCard));
  EXPECT_FALSE(list().find(kDrainedCard));
  EXPECT_FALSE(*list().undrain(kDrainedCard));
}

TEST_F(DrainListTest, TheFirstReasonStays) {
  ASSERT_TRUE(list().drain({.device = kDrainedCard, .reason = "lost", .evidence = "first"}));
  ASSERT_TRUE(list().drain({.device = kDrainedCard, .reason = "not_back", .evidence = "second"}));
  EXPECT_EQ(list().find(kDrainedCard)->evidence, "first");
  EXPECT_EQ(list().list().size(), 1u);
}

TEST_F(DrainListTest, WhatCannotBeReadCounts) {
  for (const char* text : {"", "{", "[]", R"({"device":"xpu:other"})"}) {
    std::ofstream(path_ + "/" + kDrainedCard + ".drained", std::ios::trunc) << text;
    ASSERT_TRUE(list().find(kDrainedCard)) << text;
    EXPECT_EQ(list().find(kDrainedCard)->reason, "unreadable") << text;
    EXPECT_EQ(list().list().at(0).device, kDrainedCard);
  }
}

TEST_F(DrainListTest, ADirectoryThatCannotBeWrittenIsNamed) {
  const DrainList gone(path_ + "/gone");
  const auto drained = gone.drain({.device = kDrainedCard, .reason = "lost", .evidence = ""});
  ASSERT_FALSE(drained);
  EXPECT_THAT(drained.error().what, HasSubstr(path_ + "/gone/" + kDrainedCard));
}

}  // namespace
}  // namespace proctor
