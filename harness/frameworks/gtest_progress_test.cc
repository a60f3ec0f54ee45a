#include "harness/frameworks/gtest_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using What = ProgressStep::What;

class GtestProgressTest : public testing::Test {
 protected:
  // Returns a step such as "begin A.B" for each line that shows one.
  std::vector<std::string> read(const std::vector<std::string>& lines) {
    std::vector<std::string> steps;
    for (const std::string& line : lines) {
      const ProgressStep step = reader_->read(line);
      if (step.what == What::kBegin) steps.push_back("begin " + step.name);
      if (step.what == What::kEnd) steps.push_back("end " + step.name);
      if (step.what == What::kFailed) steps.push_back("failed " + step.name);
      if (step.what == What::kAllEnded) steps.push_back("all ended");
    }
    return steps;
  }
  // Returns the event lines of a result file in which A.B was skipped without a reason.
  std::string skip_in_file() {
    std::string all;
    for (const std::string& line : reader_->translate(
             R"({"testsuites":[{"name":"A","testsuite":[{"name":"B","status":"RUN","result":"SKIPPED"}]}]})"))
      all += line + "\n";
    return all;
  }

  std::unique_ptr<ProgressReader> reader_ = gtest_progress();
};

TEST_F(GtestProgressTest, ReadsWhichTestRuns) {
  EXPECT_THAT(read({"[==========] Running 4 tests from 2 test suites.", "[ RUN      ] A.B", "words",
                    "[       OK ] A.B (0 ms)", "[ RUN      ] Many/A.B/1", "f.cc:1: Failure",
                    "[  FAILED  ] Many/A.B/1, where GetParam() = (1) (0 ms)", "[ RUN      ] T/1.a::b - *",
                    "[       OK ] T/1.a::b - * (0 ms)", "[ RUN      ] A.C", "[  SKIPPED ] A.C",
                    "[==========] 4 tests from 2 test suites ran. (1 ms total)", "[  PASSED  ] 2 tests.",
                    "[  FAILED  ] 1 test, listed below:", "[  FAILED  ] Many/A.B/1, where GetParam() = (1)"}),
              ElementsAre("begin A.B", "end A.B", "begin Many/A.B/1", "failed Many/A.B/1",
                          "begin T/1.a::b - *", "end T/1.a::b - *", "begin A.C", "end A.C", "all ended",
                          "failed 1 test, listed below:", "failed Many/A.B/1"));
  EXPECT_FALSE(reader_->failed_outside());
}

TEST_F(GtestProgressTest, ParsesColouredAndMixedLines) {
  EXPECT_THAT(read({"loading...[ RUN      ] A.B", "no end of line[       OK ] A.B (0 ms)",
                    "\x1b[0;32m[ RUN      ] \x1b[mA.C", "\x1b[0;32m[       OK ] \x1b[mA.C (0 ms)"}),
              ElementsAre("begin A.B", "end A.B", "begin A.C", "end A.C"));
}

TEST_F(GtestProgressTest, EndsOnlyTheTestThatRuns) {
  EXPECT_THAT(read({"[       OK ] A.B (0 ms)", "[ RUN      ] A.B", "[       OK ] A.C (0 ms)",
                    "[       OK ] A.Bc (0 ms)"}),
              ElementsAre("begin A.B"));
}

TEST_F(GtestProgressTest, HandlesNestedTestProgram) {
  EXPECT_THAT(
      read({"[ RUN      ] A.B", "[ RUN      ] Other.X", "[       OK ] Other.X (0 ms)", "[ RUN      ] Other.Y",
            "f.cc:1: Failure", "[       OK ] A.B (0 ms)", "[ RUN      ] A.C"}),
      ElementsAre("begin A.B", "begin Other.X", "end Other.X", "begin Other.Y", "end A.B", "begin A.C"));
  EXPECT_FALSE(reader_->failed_outside());
}

TEST_F(GtestProgressTest, FindsFailuresOutsideOfTests) {
  EXPECT_THAT(read({"[ RUN      ] A.B", "f.cc:1: Failure", "[  FAILED  ] A.B (0 ms)"}),
              ElementsAre("begin A.B", "failed A.B"));
  EXPECT_FALSE(reader_->failed_outside());
  EXPECT_THAT(read({"f.cc:2: Failure"}), IsEmpty());
  EXPECT_TRUE(reader_->failed_outside());
}

TEST_F(GtestProgressTest, CollectsMessagesOfSkips) {
  read({"[ RUN      ] A.B", "f.cc:1: Skipped", "no such card", "[  SKIPPED ] A.B (0 ms)"});
  EXPECT_THAT(skip_in_file(), HasSubstr("no such card"));
  reader_ = gtest_progress();
  read({"f.cc:1: Skipped", "no card at all"});
  EXPECT_THAT(skip_in_file(), HasSubstr("no card at all")) << "an environment skips all tests";
  read({"[ RUN      ] A.B", "[  SKIPPED ] A.B (0 ms)"});
  EXPECT_THAT(skip_in_file(), testing::Not(HasSubstr("no card at all")));
  EXPECT_THAT(reader_->translate("no file"), IsEmpty());
}

}  // namespace
}  // namespace proctor
