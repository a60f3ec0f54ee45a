#include "harness/base/hex.h"

#include <gtest/gtest.h>

#include <array>

namespace proctor {
namespace {

TEST(Hex, ComesBackAsItWent) {
  const std::array<char, 4> bytes{'\0', '\x7f', '\x80', '\xff'};
  EXPECT_EQ(to_hex(bytes), "007f80ff");
  std::array<char, 4> back{};
  ASSERT_TRUE(from_hex("007f80FF", back));
  EXPECT_EQ(back, bytes);
}

TEST(Hex, TextOfAnotherLengthOrWithOtherLettersIsRefused) {
  std::array<char, 2> bytes{};
  for (const char* text : {"", "00", "00000", "000000", "00g0", "0x00", "-100"}) {
    EXPECT_FALSE(from_hex(text, bytes)) << text;
  }
}

}  // namespace
}  // namespace proctor
