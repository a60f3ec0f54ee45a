#include "suites/probe/sysman_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor::probe {
namespace {

using testing::HasSubstr;

TEST(RateBetween, IsOfTwoCountersThatWentForward) {
  std::string why;
  EXPECT_EQ(rate_between(Counter{100, 10}, Counter{150, 110}, why), 0.5);
  EXPECT_FALSE(rate_between(std::nullopt, Counter{150, 110}, why));
  EXPECT_THAT(why, HasSubstr("two samples"));
  EXPECT_FALSE(rate_between(Counter{100, 10}, Counter{99, 20}, why));
  EXPECT_THAT(why, HasSubstr("backwards"));
  EXPECT_FALSE(rate_between(Counter{100, 10}, Counter{150, 10}, why));
  EXPECT_THAT(why, HasSubstr("stands still"));
}

}  // namespace
}  // namespace proctor::probe
