#include "harness/base/perfmon.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

constexpr const char* kFirst = "         0          0 4294967295\n";

TEST(Perfmon, IsACapabilityOfTheFirstNamespace) {
  EXPECT_TRUE(may_see_memory_use("Name:\tx\nCapEff:\t0000004000000000\n", kFirst)) << "CAP_PERFMON";
  EXPECT_TRUE(may_see_memory_use("CapEff:\t0000000000200000\n", kFirst)) << "CAP_SYS_ADMIN";
  EXPECT_TRUE(may_see_memory_use("CapEff:\t000001ffffffffff\n", kFirst));
  EXPECT_FALSE(may_see_memory_use("CapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n", kFirst));
  EXPECT_FALSE(may_see_memory_use("CapEff:\t000001bfffdfffff\n", kFirst)) << "all but these two";
  EXPECT_FALSE(may_see_memory_use("CapEff:\t000001ffffffffff\n", "         0       1000          1\n"));
}

TEST(Perfmon, WhatCannotBeReadHasNone) {
  EXPECT_FALSE(may_see_memory_use("", kFirst));
  EXPECT_FALSE(may_see_memory_use("CapEff:\t000001ffffffffff\n", ""));
}

}  // namespace
}  // namespace proctor
