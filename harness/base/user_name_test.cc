#include "harness/base/user_name.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

TEST(UserName, ReadsNameFromPasswordFile) {
  EXPECT_EQ(user_name(0), "root (uid 0)");
  EXPECT_EQ(user_name(4'000'000'000), "uid 4000000000");
}

TEST(UserName, OnlyUidZeroIsRoot) {
  EXPECT_TRUE(is_roots(0));
  EXPECT_FALSE(is_roots(1));
}

}  // namespace
}  // namespace proctor
