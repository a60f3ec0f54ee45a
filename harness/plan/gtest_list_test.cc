#include "harness/plan/gtest_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/text.h"

namespace proctor {
namespace {

std::vector<std::string> names_of(std::string_view text) {
  const Result<std::vector<GtestName>> names = parse_gtest_list(text);
  if (!names) return {"error: " + names.error().what};
  std::vector<std::string> result;
  for (const GtestName& name : *names)
    result.push_back((name.disabled ? "!" : "") + name.group + "." + name.name);
  return result;
}

using testing::ElementsAre;

TEST(GtestList, GroupsAndComments) {
  EXPECT_THAT(
      names_of(
          "Running main() from main.cc\nA.\n  One\n  Two  # GetParam() = 4 # x\nB/0.  # TypeParam = int\n"
          "  One\r\n"),
      ElementsAre("A.One", "A.Two", "B/0.One"));
}

TEST(GtestList, ChatterKeepsTheGroup) {
  EXPECT_THAT(names_of("Driver loaded.\nA.\n  One\nwarning: slow\nAll is well.\n  Two\ndone"),
              ElementsAre("A.One", "A.Two"));
}

TEST(GtestList, TypedSuitesMayHaveBlanks) {
  EXPECT_THAT(names_of("T/unsigned int.  # TypeParam = unsigned int\n  One\n"),
              ElementsAre("T/unsigned int.One"));
  EXPECT_THAT(names_of("A.\nT/unsigned int.\n  One\n"), ElementsAre("A.One"));
}

// The rule of GoogleTest: DISABLED_ at the beginning of either name, or after a '/'.
TEST(GtestList, Disabled) {
  EXPECT_THAT(names_of("DISABLED_A.\n  X\nP/DISABLED_B.\n  X/0\nC.\n  DISABLED_X\n  X_DISABLED_Y\n"),
              ElementsAre("!DISABLED_A.X", "!P/DISABLED_B.X/0", "!C.DISABLED_X", "C.X_DISABLED_Y"));
}

TEST(GtestList, RefusesWhatItCannotPlace) {
  EXPECT_THAT(names_of("A.\n  One Two\n"), ElementsAre("error: line 2 is no test name:   One Two"));
  EXPECT_THAT(names_of("\n  One\n"), ElementsAre("error: line 2 is a test without a group:   One"));
  EXPECT_THAT(names_of("A.\n  \n"), ElementsAre("error: line 2 is no test name:   "));
}

TEST(GtestList, EmptyIsEmpty) { EXPECT_TRUE(names_of("").empty()); }

TEST(GtestFilter, PlainNamesStayAsTheyAre) {
  EXPECT_EQ(*gtest_filter_for("A/0.B_1", {"A/0.B_1"}), "A/0.B_1");
}

TEST(GtestFilter, SpecialCharactersBecomeQuestionMarks) {
  EXPECT_EQ(*gtest_filter_for("T/a::b - c*.X", {"T/a::b - c*.X", "T/short.X"}), "T/a??b ? c?.X");
}

TEST(GtestFilter, RefusesWhatWouldSelectTwo) {
  const Result<std::string> filter = gtest_filter_for("T/a:b.X", {"T/a:b.X", "T/a-b.X"});
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().what, "GoogleTest cannot tell `T/a:b.X` from `T/a-b.X` in a filter");
}

// Over every set of two names of three characters: the filter selects its own name
// and no other, or is refused.
TEST(GtestFilter, SelectsExactlyOne) {
  const std::string alphabet = "a:-*?";
  std::vector<std::string> words;
  for (char a : alphabet) {
    for (char b : alphabet) words.push_back({'G', '.', a, b});
  }
  for (const std::string& name : words) {
    for (const std::string& other : words) {
      const Result<std::string> filter = gtest_filter_for(name, {name, other});
      if (!filter) continue;
      ASSERT_EQ(filter->find_first_of(":-*"), std::string::npos);
      ASSERT_TRUE(glob_match(*filter, name));
      ASSERT_TRUE(other == name || !glob_match(*filter, other)) << *filter << " selects " << other;
    }
  }
}

}  // namespace
}  // namespace proctor
