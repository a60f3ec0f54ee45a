#include "harness/selftest/fault_log.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

constexpr const char* kLine =
    R"({"fault":"memory.corrupt_copy","n":1,"pid":7,"t_ns":123,"case":"m.xpu/A.B"})";

TEST(FaultLog, EachLineIsAFiring) {
  const auto firings = parse_fault_log(std::string(kLine) + "\n" + kLine + "\n");
  ASSERT_TRUE(firings);
  ASSERT_EQ(firings->size(), 2U);
  EXPECT_EQ(firings->front().fault, "memory.corrupt_copy");
  EXPECT_EQ(firings->front().t_ns, 123);
}

TEST(FaultLog, TheLastLineOfAKilledProcessMayBeCutOff) {
  const auto firings = parse_fault_log(std::string(kLine) + "\n" + std::string(kLine).substr(0, 20));
  ASSERT_TRUE(firings);
  EXPECT_EQ(firings->size(), 1U);
}

TEST(FaultLog, WhatIsNoRecordIsAnError) {
  for (const std::string bad : {"{}", "x", R"({"fault":1,"t_ns":1})", R"({"fault":"a.b"})"}) {
    EXPECT_FALSE(parse_fault_log(std::string(kLine) + "\n" + bad + "\n")) << bad;
  }
}

TEST(FaultLog, NothingFiredWhenThereIsNoFile) {
  const auto firings = read_fault_log(testing::TempDir() + "no-such-fault-log");
  ASSERT_TRUE(firings);
  EXPECT_TRUE(firings->empty());
  EXPECT_FALSE(read_fault_log(testing::TempDir()));  // a directory
}

}  // namespace
}  // namespace proctor
