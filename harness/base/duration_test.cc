#include "harness/base/duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using ::testing::HasSubstr;

struct GoodDuration {
  const char* text;
  std::int64_t ms;
};
constexpr GoodDuration kGood[] = {{"0s", 0},
                                  {"0ms", 0},
                                  {"250ms", 250},
                                  {"30s", 30'000},
                                  {"2m", 120'000},
                                  {"1h", 3'600'000},
                                  {"1.5s", 1500},
                                  {"0.001s", 1},
                                  {"1.0ms", 1},
                                  {"1.000000000ms", 1},
                                  {"0.25m", 15'000},
                                  {"0.0000025h", 9},
                                  {"8760h", 31'536'000'000},
                                  {"007s", 7000},
                                  {"31536000000ms", 31'536'000'000}};

TEST(Duration, ParsesValidDurations) {
  for (const auto& [text, ms] : kGood) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().what;
    EXPECT_EQ(parsed->count(), ms) << text;
  }
}

struct BadDuration {
  const char* text;
  const char* why;
  const char* hint;
};
constexpr BadDuration kBad[] = {{"", "empty", "250ms"},
                                {"30", "no unit", "Did you mean '30s' or '30ms'?"},
                                {"1.5", "no unit", "'1.5s'"},
                                {"-1s", "sign", "250ms"},
                                {"+1s", "sign", "250ms"},
                                {"s", "digit", "250ms"},
                                {".5s", "digit", "250ms"},
                                {"1.s", "point", "250ms"},
                                {"1..5s", "point", "250ms"},
                                {"1,5s", "unknown unit ',5s'", "250ms"},
                                {"30 s", "unknown unit ' s'", "Did you mean '30s'?"},
                                {"30S", "unknown unit 'S'", "Did you mean '30s'?"},
                                {"5sec", "unknown unit 'sec'", "Did you mean '5s'?"},
                                {"2min", "unknown unit 'min'", "Did you mean '2m'?"},
                                {"1d", "unknown unit 'd'", "250ms"},
                                {"1h30m", "unknown unit 'h30m'", "250ms"},
                                {" 1s", "digit", "250ms"},
                                {"1e3s", "unknown unit 'e3s'", "250ms"},
                                {"0x10s", "unknown unit", "250ms"},
                                {"1s\n", "unknown unit", "250ms"},
                                {"0.5ms", "whole number", "250ms"},
                                {"0.0000001h", "whole number", "250ms"},
                                {"1.0000000000000000001s", "whole number", "250ms"},
                                {"8760.1h", "365 days", "8760h"},
                                {"31536000001ms", "365 days", "8760h"},
                                {"99999999999999999999999h", "365 days", "8760h"}};

TEST(Duration, RejectsInvalidDurationWithSuggestion) {
  for (const auto& [text, why, hint] : kBad) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text << " was read as " << parsed->count() << " ms";
    EXPECT_EQ(parsed.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(parsed.error().what, HasSubstr("'" + std::string(text) + "'"));
    EXPECT_THAT(parsed.error().what, HasSubstr(why)) << text;
    EXPECT_THAT(parsed.error().hint, HasSubstr(hint)) << text;
  }
}

TEST(Duration, FormatRoundTripsInShortestForm) {
  EXPECT_EQ(format_duration(Milliseconds(0)), "0s");
  EXPECT_EQ(format_duration(Milliseconds(90'000)), "90s");
  EXPECT_EQ(format_duration(Milliseconds(1500)), "1500ms");
  EXPECT_EQ(format_duration(Milliseconds(120'000)), "2m");
  EXPECT_EQ(format_duration(Milliseconds(7'200'000)), "2h");
  for (std::int64_t ms = 1; ms < 31'536'000'000; ms = ms * 3 + 1) {
    for (const std::int64_t value : {ms, ms / 1000 * 1000, ms / 60'000 * 60'000}) {
      const auto back = parse_duration(format_duration(Milliseconds(value)));
      ASSERT_TRUE(back);
      EXPECT_EQ(back->count(), value);
    }
  }
}

TEST(Duration, HumanFormatRoundsToReadableUnits) {
  EXPECT_EQ(human_duration(Milliseconds(0)), "0 ms");
  EXPECT_EQ(human_duration(Milliseconds(312)), "312 ms");
  EXPECT_EQ(human_duration(Milliseconds(999)), "999 ms");
  EXPECT_EQ(human_duration(Milliseconds(4080)), "4.1 s");
  EXPECT_EQ(human_duration(Milliseconds(59'949)), "59.9 s");
  EXPECT_EQ(human_duration(Milliseconds(59'950)), "1 min 00 s");
  EXPECT_EQ(human_duration(Milliseconds(125'000)), "2 min 05 s");
  EXPECT_EQ(human_duration(Milliseconds(3'599'499)), "59 min 59 s");
  EXPECT_EQ(human_duration(Milliseconds(3'599'500)), "1 h 00 min");
}

}  // namespace
}  // namespace proctor
