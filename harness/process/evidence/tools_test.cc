#include "harness/process/evidence/tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::HasSubstr;

TEST(TracingPermission, SuggestsRequiredSetting) {
  EXPECT_THAT(how_to_allow_tracing({.yama = 1, .capable = false}),
              HasSubstr("sysctl kernel.yama.ptrace_scope=0"));
  EXPECT_THAT(how_to_allow_tracing({.yama = 2, .capable = false}),
              HasSubstr("sysctl kernel.yama.ptrace_scope=0"));
  EXPECT_THAT(how_to_allow_tracing({.yama = 3, .capable = true}), HasSubstr("reboot"));
  EXPECT_THAT(how_to_allow_tracing({.yama = 0, .capable = false}), HasSubstr("--cap-add SYS_PTRACE"));
  EXPECT_THAT(how_to_allow_tracing({.yama = {}, .capable = false}), HasSubstr("--cap-add SYS_PTRACE"));
  EXPECT_THAT(how_to_allow_tracing({.yama = 1, .capable = true}), HasSubstr("seccomp"));
}

TEST(TracingPermission, FollowsYama) {
  EXPECT_TRUE(allows_tracing({.yama = {}, .capable = false}));
  EXPECT_TRUE(allows_tracing({.yama = 0, .capable = false}));
  EXPECT_TRUE(allows_tracing({.yama = 2, .capable = true}));
  EXPECT_FALSE(allows_tracing({.yama = 1, .capable = false}));
  EXPECT_FALSE(allows_tracing({.yama = 3, .capable = true}));
}

}  // namespace
}  // namespace proctor
