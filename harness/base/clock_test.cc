#include "harness/base/clock.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

using namespace std::chrono_literals;

TEST(Day, ParsesAndFormatsDates) {
  EXPECT_EQ(parse_day("2027-06-30"), 2027y / 6 / 30);
  EXPECT_EQ(parse_day("2028-02-29"), 2028y / 2 / 29);
  EXPECT_EQ(day_text(2027y / 6 / 3), "2027-06-03");
  for (const char* text : {"", "2027", "2027-6-30", "2027-06-31", "2027-02-29", "2027-00-01", "2027-13-01",
                           "2027/06/30", "2027-06-30 ", "+027-06-30", "2027-06-3x", "20270630"}) {
    EXPECT_FALSE(parse_day(text)) << text;
  }
}

TEST(Day, DaysBetweenCountMonthsAndYears) {
  EXPECT_EQ(days_between(2026y / 12 / 31, 2027y / 1 / 1), 1);
  EXPECT_EQ(days_between(2028y / 2 / 28, 2028y / 3 / 1), 2);
  EXPECT_EQ(days_between(2027y / 1 / 1, 2026y / 12 / 31), -1);
  EXPECT_EQ(days_between(2027y / 1 / 1, 2027y / 1 / 1), 0);
}

TEST(Day, ParsesAndFormatsUtcTimes) {
  const auto noon = parse_utc("2027-06-30T12:34:56Z");
  ASSERT_TRUE(noon);
  EXPECT_EQ(*noon, std::chrono::sys_days(2027y / 6 / 30) + 12h + 34min + 56s);
  EXPECT_EQ(day_of(*noon), 2027y / 6 / 30);
  EXPECT_EQ(utc_text(*noon), "2027-06-30T12:34:56Z");
  EXPECT_EQ(parse_utc("2027-06-30"), std::chrono::sys_seconds(std::chrono::sys_days(2027y / 6 / 30)));
  for (const char* text : {"", "now", "2027-06-30T12:34:56", "2027-06-30T12:34:56+02:00",
                           "2027-06-30T24:00:00Z", "2027-06-30T12:60:00Z", "2027-06-30T12:34:60Z",
                           "2027-06-30 12:34:56Z", "2027-06-30T1:34:56Z", "2027-06-31T12:34:56Z"}) {
    EXPECT_FALSE(parse_utc(text)) << text;
  }
}

}  // namespace
}  // namespace proctor
