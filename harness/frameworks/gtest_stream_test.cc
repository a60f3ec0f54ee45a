#include "harness/frameworks/gtest_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/text.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// As GoogleTest 1.12 sent it: one that passes with SUCCEED(), one that fails twice, one that skips, a death test, and
// one that crashes.
constexpr std::string_view kRecorded =
    R"(gtest_streaming_protocol_version=1.0
event=TestProgramStart
event=TestIterationStart&iteration=0
event=TestCaseStart&name=A
event=TestStart&name=Passes
event=TestPartResult&file=t.cc&line=5&message=Succeeded%0Aall %26 well %3D 100%25
event=TestEnd&passed=1&elapsed_time=0ms
event=TestStart&name=Fails
event=TestPartResult&file=t.cc&line=6&message=Expected equality of these values:%0A  1%0A  2%0Aodd %26 %3D %25
event=TestPartResult&file=t.cc&line=7&message=Failed%0Asecond
event=TestEnd&passed=0&elapsed_time=0ms
event=TestStart&name=Skips
event=TestPartResult&file=t.cc&line=8&message=no card%0Ahere
event=TestEnd&passed=0&elapsed_time=0ms
event=TestCaseEnd&passed=0&elapsed_time=0ms
event=TestCaseStart&name=T/B::C, D
event=TestStart&name=Death
event=TestEnd&passed=1&elapsed_time=11ms
event=TestStart&name=Crash
event=TestPartResult&file=t.cc&line=10&message=last words
)";
constexpr std::string_view kBegin =
    "gtest_streaming_protocol_version=1.0\nevent=TestProgramStart\nevent=TestIterationStart&iteration=0\n"
    "event=TestCaseStart&name=A\n";

class GtestStreamTest : public testing::Test {
 protected:
  // The events that the lines become.
  std::vector<std::string> hear(std::string_view text) {
    std::vector<std::string> events;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
      for (std::string& event : stream_->translate(text.substr(0, end))) events.push_back(std::move(event));
      text.remove_prefix(end);
    }
    return events;
  }
  // Why it is doubted that this follows the begin of group A.
  std::string doubt_of(std::string_view text) {
    stream_ = gtest_stream();
    hear(kBegin);
    hear(text);
    return stream_->doubt();
  }

  std::unique_ptr<Testimony> stream_ = gtest_stream();
};

TEST_F(GtestStreamTest, EachTestIsToldAsItHappens) {
  const auto events = hear(kRecorded);
  EXPECT_EQ(stream_->doubt(), "");
  EXPECT_THAT(
      events,
      ElementsAre(
          R"({"case":"A.Passes","event":"start","v":1})",
          R"({"case":"A.Passes","event":"end","result":"pass","v":1})",
          R"({"case":"A.Fails","event":"start","v":1})",
          R"({"event":"fail","file":"t.cc","line":6,"message":"Expected equality of these values:\n  1\n  2\nodd & = %","v":1})",
          R"({"event":"fail","file":"t.cc","line":7,"message":"Failed\nsecond","v":1})",
          R"({"case":"A.Fails","event":"end","result":"fail","v":1})",
          R"({"case":"A.Skips","event":"start","v":1})",
          R"({"event":"fail","file":"t.cc","line":8,"message":"no card\nhere","v":1})",
          R"({"case":"A.Skips","event":"end","result":"fail","v":1})",
          R"({"case":"T/B::C, D.Death","event":"start","v":1})",
          R"({"case":"T/B::C, D.Death","event":"end","result":"pass","v":1})",
          R"({"case":"T/B::C, D.Crash","event":"start","v":1})",
          R"({"event":"fail","file":"t.cc","line":10,"message":"last words","v":1})"));
  EXPECT_FALSE(stream_->is_complete());
}

TEST_F(GtestStreamTest, TheFileKnowsASkip) {
  hear(kRecorded);
  const std::string file =
      R"({"testsuites": [{"name": "A", "testsuite": [
           {"name": "Passes", "status": "RUN", "time": "0.012s", "result": "COMPLETED"},
           {"name": "Fails", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "t.cc:6\nodd"}]},
           {"name": "Skips", "status": "RUN", "result": "SKIPPED"}]}]})";
  EXPECT_THAT(
      stream_->translate_file(file),
      ElementsAre(
          R"({"case":"A.Passes","event":"start","v":1})",
          R"({"case":"A.Passes","event":"end","result":"pass","took_ms":12,"v":1})",
          R"({"case":"A.Fails","event":"start","v":1})",
          R"({"event":"fail","file":"t.cc","line":6,"message":"odd","v":1})",
          R"({"case":"A.Fails","event":"end","result":"fail","took_ms":0,"v":1})",
          R"({"case":"A.Skips","event":"start","v":1})",
          R"({"case":"A.Skips","event":"end","reason":"no card\nhere","result":"skip","took_ms":0,"v":1})"));
  EXPECT_THAT(stream_->translate_file("no file"), IsEmpty());
}

// What failed while a group was set up concerns its tests alone.
TEST_F(GtestStreamTest, AFailureOfAGroupIsOfItsTests) {
  const std::string file =
      R"({"testsuites": [
           {"name": "A", "failures": [{"failure": "set up"}],
            "testsuite": [{"name": "One", "status": "RUN", "result": "COMPLETED"}]},
           {"name": "B", "testsuite": [{"name": "One", "status": "RUN", "result": "COMPLETED"}]}]})";
  EXPECT_THAT(stream_->translate_file(file),
              ElementsAre(HasSubstr("start"), R"({"event":"fail","message":"set up","v":1})",
                          HasSubstr(R"("case":"A.One","event":"end","result":"fail")"), HasSubstr("start"),
                          HasSubstr(R"("case":"B.One","event":"end","result":"pass")")));
}

TEST_F(GtestStreamTest, WhatIsToldBetweenTestsConcernsItsGroup) {
  hear(kBegin);
  EXPECT_THAT(hear("event=TestPartResult&file=&line=-1&message=set up\n"), IsEmpty());
  hear("event=TestStart&name=X\nevent=TestEnd&passed=1&elapsed_time=0ms\nevent=TestCaseEnd&passed=1\n");
  EXPECT_TRUE(stream_->is_unclear("A.X"));
  EXPECT_FALSE(stream_->is_unclear("B.X"));
  EXPECT_FALSE(stream_->is_unclear("A.B.X"));
  hear("event=TestPartResult&file=&line=-1&message=Succeeded\n");
  EXPECT_FALSE(stream_->is_unclear("B.X")) << "a success";
  hear("event=TestPartResult&file=&line=-1&message=torn down\n");
  EXPECT_TRUE(stream_->is_unclear("B.X"));
  EXPECT_EQ(stream_->doubt(), "");
}

TEST_F(GtestStreamTest, ItSaysWhenItIsAtItsEnd) {
  hear(kBegin);
  EXPECT_FALSE(stream_->is_complete());
  hear("event=TestCaseEnd&passed=1\nevent=TestIterationEnd&passed=1\nevent=TestProgramEnd&passed=1\n");
  EXPECT_TRUE(stream_->is_complete());
  EXPECT_EQ(stream_->doubt(), "");
}

TEST_F(GtestStreamTest, WhatBreaksTheOrderIsDoubted) {
  const std::string begin = "event=TestStart&name=X\n";
  const std::string end = "event=TestEnd&passed=1&elapsed_time=0ms\n";
  EXPECT_EQ(doubt_of(begin + end), "");
  EXPECT_THAT(doubt_of(begin + end + end), HasSubstr("came without its begin")) << "a fork spoke, too";
  EXPECT_THAT(doubt_of(begin + begin), HasSubstr("before the end of another test"));
  EXPECT_THAT(doubt_of(begin + end + begin), HasSubstr("came twice"));
  EXPECT_THAT(doubt_of(begin + "event=TestProgramEnd&passed=1\n"), HasSubstr("before the end of a test"));
  EXPECT_THAT(doubt_of(begin + "event=TestCaseEnd&passed=1\n"), HasSubstr("before the end of a test"));
  EXPECT_THAT(doubt_of("event=TestCaseStart&name=B\n"), HasSubstr("before the end of another group"));
  EXPECT_THAT(doubt_of("event=TestIterationStart&iteration=1\n"), HasSubstr("repeats its tests"));
  EXPECT_THAT(doubt_of("event=TestProgramEnd&passed=1\n" + begin), HasSubstr("was not expected"));
  EXPECT_THAT(doubt_of(begin + "event=TestEnd&passed=maybe\n"), HasSubstr("does not say whether it passed"));
  EXPECT_THAT(doubt_of(begin + "event=TestEnd&pas"), HasSubstr("has no end"));
  EXPECT_THAT(doubt_of(begin + "event=TestEnd&passed=1"), HasSubstr("has no end"));
  EXPECT_THAT(doubt_of("PASSED\n"), HasSubstr("`PASSED` was not expected"));
  EXPECT_EQ(doubt_of("event=SomethingNew&x=1\n"), "") << "later versions may say more";
}

TEST_F(GtestStreamTest, AnotherVersionIsDoubted) {
  EXPECT_THAT(hear("gtest_streaming_protocol_version=2.0\n"), IsEmpty());
  EXPECT_THAT(stream_->doubt(), HasSubstr("is not the version of the stream"));
  EXPECT_FALSE(gtest_stream()->tells_of_cases("gtest_streaming_protocol_version=1.0"));
  EXPECT_TRUE(gtest_stream()->tells_of_cases("event=TestProgramStart"));
}

}  // namespace
}  // namespace proctor
