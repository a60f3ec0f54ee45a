#include "reports/resolve/gtest_message.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

TEST(GtestMessage, TheWordsOfTheTestStandInFront) {
  const std::string equality = "Expected equality of these values:\n  sum\n    Which is: 6\n  7";
  EXPECT_EQ(words_of_test_first(equality + "\nrow 3\nof 9"), "row 3\nof 9\n" + equality);
  const std::string diff = equality + "\nWith diff:\n@@ -1,2 +1,2 @@\n a\n-b\n+c";
  EXPECT_EQ(words_of_test_first(diff + "\nin the header\n"), "in the header\n" + diff);
  const std::string truth = "Value of: is_ready\n  Actual: false\nExpected: true";
  EXPECT_EQ(words_of_test_first(truth + "\nafter 3 s"), "after 3 s\n" + truth);
  const std::string match = "Value of: list\nExpected: is empty\n  Actual: { 1 }, whose size is 1";
  EXPECT_EQ(words_of_test_first(match + "\nof devices"), "of devices\n" + match);
  const std::string less = "Expected: (a) < (b), actual: 3 vs 2";
  EXPECT_EQ(words_of_test_first(less + "\nlatency"), "latency\n" + less);
  const std::string near =
      "The difference between a and b is 1, which exceeds 0.5, where\na evaluates to 1,\nb evaluates to 2, "
      "and\n"
      "0.5 evaluates to 0.5.";
  EXPECT_EQ(words_of_test_first(near + "\nloss"), "loss\n" + near);
  EXPECT_EQ(words_of_test_first("Failed\nno such card"), "no such card");
}

TEST(GtestMessage, AMessageWithoutWordsOfTheTestStaysAsItIs) {
  for (const char* message :
       {"", "\n", "Failed", "Expected equality of these values:\n  a\n  b", "own\nwords",
        "Value of: x\n  Actual: false", "Expected: (a) < (b), actual: 3 vs 2\n \n"})
    EXPECT_EQ(words_of_test_first(message), message);
}

}  // namespace
}  // namespace proctor
