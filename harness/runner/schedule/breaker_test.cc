#include "harness/runner/schedule/breaker.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

const Verdict kLost{Outcome::kDeviceLost, {Reason::kDevice, "a"}};
const Verdict kLease{Outcome::kError, Reason::kGuardLost};
const Verdict kPass{Outcome::kPass, ""};

TEST(Breaker, BreaksOnceAfterSoManyInARow) {
  Breaker breaker(3);
  EXPECT_FALSE(breaker.add(kLost));
  EXPECT_FALSE(breaker.add(kLease));
  EXPECT_TRUE(breaker.add(kLost));
  EXPECT_FALSE(breaker.add(kLost)) << "it is broken already";
}

TEST(Breaker, WhatWasExecutedInBetweenEndsTheRow) {
  for (const Verdict& other : {kPass, Verdict{Outcome::kFail, ""}, Verdict{Outcome::kTimeout, ""},
                               Verdict{Outcome::kError, Reason::kNoResult}, Verdict{Outcome::kXfail, ""}}) {
    Breaker breaker(2);
    EXPECT_FALSE(breaker.add(kLost));
    EXPECT_FALSE(breaker.add(other)) << to_string(other);
    EXPECT_FALSE(breaker.add(kLost)) << to_string(other);
    EXPECT_TRUE(breaker.add(kLost)) << to_string(other);
  }
}

TEST(Breaker, WhatWasNotExecutedDoesNot) {
  for (const Verdict& other :
       {Verdict{Outcome::kSkip, Reason::kDisabled}, Verdict{Outcome::kNotrun, Reason::kDeviceLost}}) {
    Breaker breaker(2);
    EXPECT_FALSE(breaker.add(kLost));
    EXPECT_FALSE(breaker.add(other)) << to_string(other);
    EXPECT_TRUE(breaker.add(kLost)) << to_string(other);
  }
}

TEST(Breaker, ACommandThatIsNotThereSaysNothingAboutTheMachine) {
  Breaker breaker(2);
  for (const char* missing : {"spawn:ENOENT", "spawn:EACCES", "spawn:ENOEXEC"}) {
    EXPECT_FALSE(breaker.add({Outcome::kError, reason_in_words(missing)})) << missing;
  }
  EXPECT_FALSE(breaker.add({Outcome::kError, {Reason::kSpawn, "EAGAIN"}}));
  EXPECT_TRUE(breaker.add({Outcome::kError, {Reason::kSpawn, "EAGAIN"}}));
}

TEST(Breaker, ZeroIsNever) {
  Breaker breaker(0);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(breaker.add(kLost));
}

}  // namespace
}  // namespace proctor
