#include "harness/base/version.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace proctor {
namespace {

Version version(const std::string& text) {
  const Result<Version> parsed = Version::parse(text);
  EXPECT_TRUE(parsed) << text;
  return *parsed;
}

TEST(Version, ComparesAsNumbersNotAsText) {
  EXPECT_EQ(compare(version("22.9"), version("22.43")), -1);
  EXPECT_EQ(compare(version("22.43"), version("22.43.0")), 0);
  EXPECT_EQ(compare(version("22.43.24595.41"), version("22.43")), 1);
  EXPECT_EQ(compare(version("535.54.03"), version("535.54.3")), 0);
  EXPECT_EQ(compare(version("1.99999999999999999999999"), version("1.100000000000000000000000")), -1);
}

TEST(Version, ParsesLeadingNumberOnly) {
  EXPECT_EQ(compare(version("1.3.24595+1147~22.04"), version("1.3.24595")), 0);
  EXPECT_FALSE(Version::parse("unknown"));
  EXPECT_FALSE(Version::parse(""));
  EXPECT_FALSE(Version::parse("-1"));
}

// Compares every pair of versions of up to three small numbers with the order of their zero-padded vectors.
// Each pair is also checked with every operator of a range.
TEST(VersionRange, MatchesOrderOfNumberVectors) {
  std::vector<std::vector<int>> all;
  for (int a : {0, 1, 9, 10, 22}) {
    all.push_back({a});
    for (int b : {0, 2, 10, 100}) {
      all.push_back({a, b});
      for (int c : {0, 7, 43}) all.push_back({a, b, c});
    }
  }
  const auto text = [](const std::vector<int>& numbers) {
    std::string result;
    for (int number : numbers) result += (result.empty() ? "" : ".") + std::to_string(number);
    return result;
  };
  for (const auto& left : all) {
    for (const auto& right : all) {
      auto a = left;
      auto b = right;
      a.resize(3);
      b.resize(3);
      const Version value = version(text(left));
      const auto holds = [&](const std::string& op) {
        const Result<VersionRange> range = VersionRange::parse(op + text(right));
        return range && range->contains(value);
      };
      ASSERT_EQ(compare(value, version(text(right))), a < b ? -1 : (b < a ? 1 : 0))
          << text(left) << " " << text(right);
      ASSERT_EQ(holds(">="), a >= b);
      ASSERT_EQ(holds("<="), a <= b);
      ASSERT_EQ(holds(">"), a > b);
      ASSERT_EQ(holds("<"), a < b);
      ASSERT_EQ(holds("="), a == b);
      ASSERT_EQ(holds("= "), a == b);
    }
  }
}

// A range is the conjunction of its conditions, in any order.
TEST(VersionRange, RequiresAllConditions) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> number(0, 5);
  for (int i = 0; i < 2000; ++i) {
    const int low = number(random);
    const int high = number(random);
    const int value = number(random);
    const std::string from = ">=1." + std::to_string(low);
    const std::string to = "<1." + std::to_string(high);
    const bool expected = low <= value && value < high;
    for (const std::string& text : {from + "," + to, to + " , " + from}) {
      const Result<VersionRange> range = VersionRange::parse(text);
      ASSERT_TRUE(range) << text;
      ASSERT_EQ(range->contains(version("1." + std::to_string(value) + ".0")), expected)
          << text << " " << value;
    }
  }
}

TEST(VersionRange, RejectsInvalidRange) {
  for (const char* text : {"", "22", ">=", ">=x", ">=22.43,", ",", "=>22", ">=22..4", ">=22.", "==22",
                           ">=22 <23", ">=22-rc1", "~22"}) {
    const Result<VersionRange> range = VersionRange::parse(text);
    EXPECT_FALSE(range) << text;
  }
  EXPECT_EQ(VersionRange::parse("22.43").error().what,
            "read version range \"22.43\": \"22.43\" has no operator");
  EXPECT_EQ(VersionRange::parse("> 1.x").error().what,
            "read version range \"> 1.x\": \"1.x\" is not a dotted number");
}

TEST(VersionRange, EmptyRangeContainsEveryVersion) { EXPECT_TRUE(VersionRange().contains(version("1"))); }

}  // namespace
}  // namespace proctor
