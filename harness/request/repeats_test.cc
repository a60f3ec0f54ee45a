#include "harness/request/repeats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using ::testing::HasSubstr;

constexpr Milliseconds kTwoHours{7'200'000};
constexpr Exclusion kOnePercent{.confidence = 0.99, .rate = 0.01};

TEST(Repeats, ParserReadsEachPart) {
  const struct {
    const char* text;
    Repeats want;
  } rows[] = {
      {"25", {.times = 25}},
      {"1", {.times = 1}},
      {"1000000", {.times = 1'000'000}},
      {"2h", {.turns = kTwoHours}},
      {"500ms", {.turns = Milliseconds(500)}},
      {"99%:1%", {.exclusion = kOnePercent}},
      {"until-fail", {.until_fail = true}},
      {"new:50", {.times_if_new = 50}},
      {"new:9=here", {.times_if_new = 9, .known_from = "here"}},
      {"25,until-fail", {.times = 25, .until_fail = true}},
      {"until-fail,25", {.times = 25, .until_fail = true}},
      {"2h,until-fail", {.turns = kTwoHours, .until_fail = true}},
      {"99%:1%,until-fail", {.exclusion = kOnePercent, .until_fail = true}},
      {"until-fail,new:50", {.until_fail = true, .times_if_new = 50}},
      {"new:50,3", {.times = 3, .times_if_new = 50}},
      {"3,until-fail,new:50=a,b=c",
       {.times = 3, .until_fail = true, .times_if_new = 50, .known_from = "a,b=c"}},
  };
  for (const auto& row : rows) {
    const auto repeats = parse_repeats(row.text);
    ASSERT_TRUE(repeats) << row.text << ": " << repeats.error().what;
    EXPECT_EQ(*repeats, row.want) << row.text;
  }
}

TEST(Repeats, ErrorNamesThePart) {
  const struct {
    const char* text;
    const char* named;
    const char* hint;
  } rows[] = {
      {"", "``", "25, 2h, 99%:1%, until-fail or new:50"},
      {"25,", "``", "25, 2h"},
      {"often", "`often`", "25, 2h"},
      {"-1", "`-1`", "25, 2h"},
      {"until-fial", "`until-fial`", "Did you mean `until-fail`?"},
      {"3,until_fails", "`until_fails`", "Did you mean `until-fail`?"},
      {"new50", "`new50`", "Did you mean `new:50`?"},
      {"0", "`0` must have a whole number from 1 to 1000000", ""},
      {"1000001", "`1000001`", ""},
      {"new:0", "`new:0`", ""},
      {"new:", "`new:`", ""},
      {"new:x=here", "`new:x=here`", ""},
      {"2 h", "'2 h'", "Did you mean '2h'?"},
      {"2hours", "'2hours'", "Did you mean '2h'?"},
      {"0s", "`0s` is too short", "2h"},
      {"0.99:0.01", "`0.99:0.01`", "99%:1%"},
      {"99%", "`99%`", "99%:1%"},
  };
  for (const auto& row : rows) {
    const auto repeats = parse_repeats(row.text);
    ASSERT_FALSE(repeats) << row.text;
    EXPECT_THAT(repeats.error().what, HasSubstr(row.named));
    EXPECT_THAT(repeats.error().hint, HasSubstr(row.hint)) << row.text;
  }
}

TEST(Repeats, ErrorNamesPartsThatExcludeEachOther) {
  for (const auto& [one, other] :
       {std::pair("2", "3"), std::pair("2", "2h"), std::pair("2", "99%:1%"), std::pair("2h", "99%:1%"),
        std::pair("2h", "3m"), std::pair("99%:1%", "90%:1%"), std::pair("until-fail", "until-fail"),
        std::pair("2h", "new:50"), std::pair("99%:1%", "new:50=here"), std::pair("new:5", "new:50")}) {
    const auto repeats = parse_repeats(std::string(one) + "," + other);
    ASSERT_FALSE(repeats) << one << ' ' << other;
    EXPECT_EQ(repeats.error().what, "`" + std::string(other) + "` cannot be combined with `" + one + "`");
  }
}

}  // namespace
}  // namespace proctor
