#include "harness/run/attempt/gtest_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "harness/machine/scratch.h"

namespace proctor {
namespace {

class GtestResultTest : public testing::Test {
 protected:
  void SetUp() override {
    auto root = ScratchRoot::create();
    ASSERT_TRUE(root.ok());
    root_ = std::move(*root);
  }

  std::optional<GtestResult> read(const std::string& text) {
    const std::string path = root_->path() + "/gtest.json";
    std::ofstream(path) << text;
    return read_gtest_result(path);
  }

  // A report of one test in the shape that GoogleTest 1.12 writes.
  static std::string report(const std::string& test) {
    return R"({"tests":1,"failures":0,"testsuites":[{"name":"G","testsuite":[)" + test + "]}]}";
  }

  std::unique_ptr<ScratchRoot> root_;
};

TEST_F(GtestResultTest, Passed) {
  const auto result = read(report(R"({"name":"N","status":"RUN","result":"COMPLETED"})"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->ran, 1);
  EXPECT_FALSE(result->skipped);
  EXPECT_TRUE(result->failures.empty());
}

TEST_F(GtestResultTest, SkippedAndNotRun) {
  const auto skipped = read(report(R"({"name":"N","status":"RUN","result":"SKIPPED"})"));
  ASSERT_TRUE(skipped);
  EXPECT_TRUE(skipped->skipped);
  const auto disabled = read(report(R"({"name":"N","status":"NOTRUN","result":"SUPPRESSED"})"));
  ASSERT_TRUE(disabled);
  EXPECT_EQ(disabled->ran, 0);
  EXPECT_FALSE(disabled->skipped);
}

// What GoogleTest 1.12 writes when an environment's SetUp() said GTEST_SKIP.
TEST_F(GtestResultTest, WhatNeverBeganWasSkipped) {
  const auto of = [&](const std::string& start, const std::string& result) {
    return read(report(R"({"name":"N","status":"RUN","result":")" + result + R"(","timestamp":")" + start +
                       R"(","time":"0s"})"));
  };
  EXPECT_TRUE(of("1970-01-01T00:00:00Z", "COMPLETED")->skipped);
  EXPECT_TRUE(of("1969-12-31T19:00:00Z", "COMPLETED")->skipped) << "local time";
  EXPECT_FALSE(of("2026-01-01T00:00:00Z", "COMPLETED")->skipped);
  EXPECT_TRUE(of("1970-01-01T00:00:00Z", "SKIPPED")->skipped) << "its group's set-up failed or was skipped";
}

TEST_F(GtestResultTest, FailuresHaveAPlaceWhereGoogleTestGivesOne) {
  const auto result = read(report(
      R"({"name":"N","status":"RUN","result":"COMPLETED","failures":[
          {"failure":"/src/a_test.cc:12\nExpected equality\n  1\n  2","type":""},
          {"failure":"unknown file\nC++ exception with description \"a: 3\" thrown","type":""}]})"));
  ASSERT_TRUE(result);
  ASSERT_EQ(result->failures.size(), 2u);
  EXPECT_EQ(result->failures[0].file, "/src/a_test.cc");
  EXPECT_EQ(result->failures[0].line, 12);
  EXPECT_EQ(result->failures[0].message, "Expected equality\n  1\n  2");
  EXPECT_EQ(result->failures[1].file, "");
  EXPECT_THAT(result->failures[1].message, testing::StartsWith("unknown file"));
}

TEST_F(GtestResultTest, WhatIsNoReportIsNoResult) {
  EXPECT_FALSE(read_gtest_result(root_->path() + "/absent.json"));
  for (const char* text : {"", "{", "[]", "{}", "null", "\xff"}) EXPECT_FALSE(read(text)) << text;
  const auto odd = read(R"({"testsuites":7})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->ran, 0);
}

// The real thing: this very program, asked for the test above.
TEST_F(GtestResultTest, ReadsWhatThisGoogleTestWrites) {
  const std::string path = root_->path() + "/real.json";
  const std::string command = "/proc/" + std::to_string(::getpid()) +
                              "/exe --gtest_filter=GtestResultTest.Passed --gtest_output=json:" + path +
                              " >/dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto result = read_gtest_result(path);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->ran, 1);
  EXPECT_FALSE(result->skipped);
}

}  // namespace
}  // namespace proctor
