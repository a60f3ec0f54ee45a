#include "harness/cli/console/failed_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/resolve/test_journal.h"

namespace proctor::cli {
namespace {

using namespace testing_support;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kId = "gtest/Kernels.Add";

ResolvedRun failed_with(std::vector<Failure> failures, const std::string& kind = "gtest") {
  AttemptEnded end = ended(kId, {Outcome::kFail, ""});
  end.failures = std::move(failures);
  return resolved_of({plan_of({planned(kId, kind)}), started(kId), end});
}

std::vector<std::string> message_of(std::vector<Failure> failures) {
  const ResolvedRun run = failed_with(std::move(failures));
  return message_lines(run.cases.front());
}

LastLines own_of(std::vector<std::string> lines, std::vector<Failure> failures = {}, std::size_t most = 40) {
  const ResolvedRun run = failed_with(std::move(failures));
  const ResolvedCase& test = run.cases.front();
  return own_lines({.lines = std::move(lines), .is_all = false}, test, test.attempts.front(), most);
}

TEST(MessageLines, AreTheWholeMessageThenTheValues) {
  EXPECT_THAT(message_of({{"M-1", "row 3\n  of 9\n", "a.cc", 1, "0xA5", "0x00", ""},
                          {"", "later\ntoo", "a.cc", 9, "", "", ""}}),
              ElementsAre("row 3", "  of 9", "expected: 0xA5", "got:      0x00", "also a.cc:9: later too"));
}

TEST(MessageLines, AreCleanAndBounded) {
  std::string text = "a\rb\r\n\x1b[31mred\x1b[0m\n";
  for (int i = 0; i < 1000; ++i) text += "line\n";
  const auto lines = message_of({{"", text, "", 0, "", "", ""}});
  EXPECT_EQ(lines.size(), 41u);
  EXPECT_EQ(lines[0], "a");
  EXPECT_EQ(lines[1], "b");
  EXPECT_EQ(lines[2], "red");
  EXPECT_EQ(lines.back(), "… 963 more lines");
  const auto long_one = message_of({{"", std::string(5'000'000, 'x'), "", 0, "", "", ""}});
  ASSERT_EQ(long_one.size(), 1u);
  EXPECT_LT(long_one[0].size(), 10'000u);
}

TEST(OwnLines, OfGoogleTestStandBetweenTheMarksOfTheCase) {
  const LastLines own =
      own_of({"Running main() from gtest_main.cc", "[ RUN      ] Kernels.Add", "copying", "a.cc:1: Failure",
              "Failed", "no card", "", "[  FAILED  ] Kernels.Add (0 ms)", "[----------] 1 test",
              "[  FAILED  ] 1 test, listed below:", "[  FAILED  ] Kernels.Add"},
             {{"", "Failed\nno card", "a.cc", 1, "", "", ""}});
  EXPECT_THAT(own.lines, ElementsAre("copying"));
  EXPECT_TRUE(own.is_all);
}

TEST(OwnLines, OfACrashGoToTheEnd) {
  EXPECT_THAT(own_of({"[ RUN      ] Kernels.Add", "copying"}).lines, ElementsAre("copying"));
}

TEST(OwnLines, OfOtherCasesOfTheProcessAreNotShown) {
  EXPECT_THAT(own_of({"[ RUN      ] Kernels.Sub", "theirs", "[       OK ] Kernels.Sub"}).lines, IsEmpty());
}

TEST(OwnLines, WhoseBeginningIsLostEndAtTheMark) {
  const LastLines own = own_of({"step 9", "[  FAILED  ] Kernels.Add (0 ms)", "banner"});
  EXPECT_THAT(own.lines, ElementsAre("step 9"));
  EXPECT_FALSE(own.is_all);
}

TEST(OwnLines, AreAtMostSoMany) {
  EXPECT_THAT(own_of({"one", "two", "three"}, {}, 2).lines, ElementsAre("two", "three"));
}

}  // namespace
}  // namespace proctor::cli
