#include "harness/classify/xid_meaning.h"

#include <gtest/gtest.h>

#include "harness/classify/rules.h"

namespace proctor {
namespace {

TEST(XidMeaning, NumbersHaveTheNamesThatNvidiaPublishes) {
  EXPECT_EQ(xid_meaning(13), "graphics engine exception");
  EXPECT_EQ(xid_meaning(48), "double bit ECC error");
  EXPECT_EQ(xid_meaning(79), "GPU has fallen off the bus");
  EXPECT_EQ(xid_meaning(120), "GSP error");
}

TEST(XidMeaning, OtherNumbersAreNotInTheTable) {
  for (const int number : {-1, 0, 1, 9, 87, 173, 780}) EXPECT_FALSE(xid_meaning(number)) << number;
}

TEST(XidMeaning, ARuleOfAnXidHasANumber) {
  EXPECT_EQ(xid_number("xid:79"), 79);
  for (const char* id : {"xid:", "xid:other", "xid:7x", "sxid:7", "79", ""})
    EXPECT_FALSE(xid_number(id)) << id;
}

// NVIDIA's driver uses the numbers 173 and 175, but the published catalogue lacks them.
TEST(XidMeaning, TheTableHasEachOtherXidThatHasARule) {
  for (const Rule& rule : rules()) {
    const auto number = xid_number(rule.id);
    if (!number || *number == 173 || *number == 175) continue;
    EXPECT_TRUE(xid_meaning(*number)) << rule.id;
  }
}

}  // namespace
}  // namespace proctor
