#include "harness/runner/schedule/verification.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

using namespace std::chrono_literals;

TEST(VerificationTime, AllowsOneCasePerSuite) {
  Suite suite;
  VerificationTime time;
  time.add_batch(suite, 1ms);
  EXPECT_TRUE(time.allows(suite));
  time.begin_alone(suite);
  EXPECT_FALSE(time.allows(suite)) << "nobody knows how long it takes";
  time.end_alone(suite, 1s);
  EXPECT_FALSE(time.allows(suite));
}

TEST(VerificationTime, AllowsTenthOfBatchTime) {
  Suite suite;
  VerificationTime time;
  time.add_batch(suite, 10s);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(time.allows(suite)) << i;
    time.begin_alone(suite);
    time.end_alone(suite, 200ms);
  }
  EXPECT_FALSE(time.allows(suite));
  time.add_batch(suite, 2s);
  EXPECT_TRUE(time.allows(suite));
}

TEST(VerificationTime, CountsEachSuiteSeparately) {
  Suite slow, quick;
  VerificationTime time;
  time.add_batch(slow, 100s);
  time.add_batch(quick, 100ms);
  time.begin_alone(quick);
  time.end_alone(quick, 50ms);
  EXPECT_TRUE(time.allows(slow));
  EXPECT_FALSE(time.allows(quick));
}

TEST(VerificationTime, FullVerificationIsUnlimited) {
  Suite suite;
  suite.verify = 100;
  VerificationTime time;
  time.add_batch(suite, 1ms);
  time.begin_alone(suite);
  time.end_alone(suite, 1h);
  EXPECT_TRUE(time.allows(suite));
}

}  // namespace
}  // namespace proctor
