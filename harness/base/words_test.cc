#include "harness/base/words.h"

#include <gmock/gmock.h>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Words, AreTrimmedAtBothEnds) {
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed("\"a\" ", " \""), "a");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Words, ChangeTheirCaseInAsciiOnly) {
  EXPECT_EQ(lower_case("A-Z [\xc3\x84]"), "a-z [\xc3\x84]");
  EXPECT_EQ(upper_case("a-z {\xc3\xa4}"), "A-Z {\xc3\xa4}");
}

TEST(Words, AreJoinedAlsoWhenOneIsEmpty) {
  EXPECT_EQ(joined({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(joined({"", "b", ""}, ","), ",b,");
  EXPECT_EQ(joined({}, ","), "");
}

TEST(Words, AreSplitAtEverySeparator) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("a,", ','), ElementsAre("a", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Words, LinesEndWithTheirEnds) {
  EXPECT_THAT(lines_of("a\n\nb\n"), ElementsAre("a", "", "b"));
  EXPECT_THAT(lines_of("a\nb"), ElementsAre("a", "b"));
  EXPECT_THAT(lines_of(""), IsEmpty());
}

}  // namespace
}  // namespace proctor
