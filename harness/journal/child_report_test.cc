#include "harness/journal/child_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ChildReport, SetupEndsAtStartWithoutSteps) {
  ChildReport report("G.N");
  EXPECT_EQ(report.set_up_ns(), 0);
  report.add_line(R"({"v":1,"case":"G.N","event":"start","t_ns":3})");
  EXPECT_EQ(report.set_up_ns(), 3);
}

TEST(ChildReport, KeepsFieldsOfEveryEvent) {
  ChildReport report("G.N");
  report.add_line(
      R"({"v":1,"case":"G.N","event":"start","t_ns":1,"rule":"V-3","source":"spec 2.1","severity":"gate"})");
  report.add_line(R"({"v":1,"case":"G.N","event":"step","t_ns":5,"name":"open"})");
  report.add_line(R"({"v":1,"case":"G.N","event":"step","t_ns":6,"name":"copy"})");
  report.add_line(
      R"({"v":1,"case":"G.N","event":"measure","name":"bw","value":2.5,"unit":"GB/s","n":10,"spread":0.1})");
  report.add_line(R"({"v":1,"case":"G.N","event":"warn","message":"old loader"})");
  report.add_line(
      R"({"v":1,"case":"G.N","event":"fail","t_ns":9,"rule":"R","message":"m","file":"a.cc","line":7,"expected":2,"got":"3"})");
  report.add_line(R"({"v":1,"case":"G.N","event":"something_new","x":1})");
  report.add_line(R"({"v":1,"case":"G.N","event":"end","result":"fail","reason":"r"})");

  EXPECT_EQ(report.result(), ChildResult::kFail);
  EXPECT_EQ(report.reason().text(), "r");
  EXPECT_EQ(report.violations(), 0);
  EXPECT_EQ(report.rule(), "V-3");
  EXPECT_EQ(report.source(), "spec 2.1");
  EXPECT_EQ(report.severity(), Severity::kGate);
  EXPECT_EQ(report.last_step(), "copy");
  EXPECT_EQ(report.set_up_ns(), 5);
  EXPECT_EQ(report.first_failure_ns(), 9);
  EXPECT_THAT(report.warnings(), ElementsAre("old loader"));
  ASSERT_EQ(report.measures().size(), 1u);
  EXPECT_EQ(report.measures()[0].value, 2.5);
  EXPECT_EQ(report.measures()[0].n, 10);
  ASSERT_EQ(report.failures().size(), 1u);
  EXPECT_EQ(report.failures()[0].line, 7);
  EXPECT_EQ(report.failures()[0].expected, "2");
  EXPECT_EQ(report.failures()[0].got, "3");
}

std::string also_ran(const std::vector<std::string>& starts) {
  ChildReport report("G.N");
  for (const auto& name : starts) {
    report.add_line(R"({"v":1,"case":")" + name + R"(","event":"start"})");
    report.add_line(R"({"v":1,"case":")" + name + R"(","event":"step","name":"of )" + name + R"("})");
    report.add_line(R"({"v":1,"case":")" + name + R"(","event":"end","result":"pass"})");
  }
  EXPECT_EQ(report.violations(), 0);
  EXPECT_EQ(report.result().has_value(), std::ranges::count(starts, "G.N") > 0);
  EXPECT_TRUE(report.last_step().empty() || report.last_step() == "of G.N") << report.last_step();
  return report.also_ran();
}

TEST(ChildReport, KeepsFailedTriesApartFromFailures) {
  ChildReport report("N");
  report.add_line(R"({"v":1,"case":"N","event":"retry","message":"first","file":"a.py","line":7})");
  report.add_line(R"({"v":1,"case":"N","event":"end","result":"pass"})");
  EXPECT_THAT(report.failures(), IsEmpty());
  ASSERT_EQ(report.failed_tries().size(), 1u);
  EXPECT_EQ(report.failed_tries()[0].message, "first");
  EXPECT_EQ(report.failed_tries()[0].line, 7);
  const ChildReport other("N");
  EXPECT_EQ(ChildReport::of_ranks({&other, &report}).failed_tries().at(0).message, "rank 1: first");
}

TEST(ChildReport, ReportsUnrequestedCase) {
  EXPECT_EQ(also_ran({"G.N"}), "");
  EXPECT_EQ(also_ran({}), "");
  EXPECT_EQ(also_ran({"G.M"}), "G.M");
  EXPECT_EQ(also_ran({"G.N", "G.M", "G.L"}), "G.M");
  EXPECT_EQ(also_ran({"G.M", "G.N"}), "G.M");
  EXPECT_EQ(also_ran({"G.N", "G.N"}), "G.N") << "once more";
}

TEST(ChildReport, InvalidEventIsViolation) {
  for (const char* line :
       {"", "PASS", "[]", "1", "{}", R"({"event":"end","result":"pass"})",
        R"({"v":2,"event":"end","result":"pass"})", R"({"v":1,"case":"G.M","event":"step"})",
        R"({"v":1,"case":"G.N","event":"end","result":"pass")", "\xff\xfe{}"}) {
    ChildReport report("G.N");
    report.add_line(line);
    EXPECT_EQ(report.violations(), 1) << line;
    EXPECT_FALSE(report.result()) << line;
    EXPECT_EQ(report.first_violation(), line);
  }
}

TEST(ChildReport, DeeplyNestedLineIsViolation) {
  const std::string deep(32'000, '[');
  const std::string closed = std::string(15'000, '[') + std::string(15'000, ']');
  for (const std::string& field :
       {"\"rule\":" + closed, "\"message\":" + deep, "\"event\":" + closed, "\"x\":{\"y\":" + closed + "}"}) {
    ChildReport report("G.N");
    report.add_line(R"({"v":1,"case":"G.N","event":"start",)" + field + "}");
    EXPECT_EQ(report.violations(), 1) << field.substr(0, 20);
    EXPECT_EQ(ChildReport::started_case(R"({"v":1,"case":"G.N","event":"start",)" + field + "}"),
              std::nullopt);
  }
}

// A number that its type cannot hold is ignored, and no other value replaces it.
TEST(ChildReport, IgnoresNumbersOutOfRange) {
  for (const char* number :
       {"1e300", "-1e300", "1e19", "18446744073709551615", "-9223372036854775808", "5000000000"}) {
    ChildReport report("G.N");
    report.add_line(fmt::format(R"({{"v":1,"case":"G.N","event":"fail","t_ns":0,"line":{}}})", number));
    ASSERT_EQ(report.failures().size(), 1u) << number;
    EXPECT_EQ(report.failures()[0].line, 0) << number;
    report.add_line(fmt::format(R"({{"v":{},"case":"G.N","event":"step"}})", number));
    EXPECT_EQ(report.violations(), 1) << number;
  }
  ChildReport report("G.N");
  report.add_line(R"({"v":1.0,"case":"G.N","event":"fail","line":7.0,"t_ns":1.5e9})");
  EXPECT_EQ(report.failures().at(0).line, 7);
  EXPECT_EQ(report.first_failure_ns(), 1'500'000'000);
}

TEST(ChildReport, AcceptsFieldsOfWrongType) {
  ChildReport report("G.N");
  report.add_line(R"({"v":1,"case":"G.N","event":"fail","line":"seven","message":[1],"file":null})");
  report.add_line(R"({"v":1,"case":"G.N","event":"measure","value":"fast","n":{}})");
  report.add_line(R"({"v":1,"case":"G.N","event":12})");
  ASSERT_EQ(report.failures().size(), 1u);
  EXPECT_EQ(report.failures()[0].line, 0);
  EXPECT_EQ(report.failures()[0].message, "[1]");
  EXPECT_THAT(report.failures()[0].file, IsEmpty());
}

TEST(ChildReport, LimitsNumberOfFailures) {
  ChildReport report("G.N");
  for (int i = 0; i < 5000; ++i) report.add_line(R"({"v":1,"case":"G.N","event":"fail","message":"m"})");
  EXPECT_EQ(report.failures().size(), 1000u);
}

TEST(ChildReport, KeepsDevicesOfTrials) {
  ChildReport report("G.N");
  report.add_line(
      R"({"v":1,"case":"G.N","event":"trial","ok":true,"devices":[{"role":"source","device":"A"},{"role":"target","device":"B"}]})");
  report.add_line(R"({"v":1,"case":"G.N","event":"trial","devices":["A",{"device":"B"}]})");
  ASSERT_EQ(report.trials().size(), 2u);
  EXPECT_TRUE(report.trials()[0].ok);
  EXPECT_EQ(report.trials()[0].devices.at(1).role, "target");
  EXPECT_EQ(report.trials()[0].devices.at(1).device, "B");
  EXPECT_FALSE(report.trials()[1].ok) << "nobody said that it went right";
  ASSERT_EQ(report.trials()[1].devices.size(), 1u);
  EXPECT_EQ(report.trials()[1].devices[0].device, "B");
  const ChildReport other("G.N");
  EXPECT_EQ(ChildReport::of_ranks({&other, &report}).trials().size(), 2u);
}

TEST(ChildReport, LimitsNumberOfTrials) {
  ChildReport report("G.N");
  for (int i = 0; i < 5000; ++i) report.add_line(R"({"v":1,"case":"G.N","event":"trial","ok":true})");
  EXPECT_EQ(report.trials().size(), 4096u);
}

// The report stays within the size that a journal can hold, where it is part of one record: the end of an
// attempt.
TEST(ChildReport, LimitsTotalTextSize) {
  ChildReport report("G.N");
  const std::string text(60'000, 'x');
  for (int i = 0; i < 100; ++i) {
    report.add_line(R"({"v":1,"case":"G.N","event":"property","name":"n","value":")" + text + "\"}");
    report.add_line(R"({"v":1,"case":"G.N","event":"warn","message":")" + text + "\"}");
  }
  report.add_line(R"({"v":1,"case":"G.N","event":"fail","message":"m"})");
  const std::size_t kept = report.properties().size() + report.warnings().size();
  EXPECT_GT(kept, 130u);
  EXPECT_LE(kept, 8u * 1024 * 1024 / text.size());
  EXPECT_EQ(report.failures().size(), 1u) << "what decides is never left out";
}

TEST(ChildReport, ReturnsCaseOfStartEvent) {
  EXPECT_EQ(ChildReport::started_case(R"({"v":1,"case":"G.N","event":"start","t_ns":1})"), "G.N");
  EXPECT_EQ(ChildReport::started_case(R"({"v":1,"case":"G.N","event":"end","result":"pass"})"), std::nullopt);
  EXPECT_EQ(ChildReport::started_case("start"), std::nullopt);
}

TEST(ChildReport, KeepsEndOfLongOutput) {
  ChildReport report("G.N");
  report.add_line(R"({"v":1,"case":"G.N","event":"output","text":"first"})");
  EXPECT_EQ(report.output(), "first");
  const std::string much(40'000, 'x');
  for (int i = 0; i < 2; ++i)
    report.add_line(R"({"v":1,"case":"G.N","event":"output","text":")" + much + R"("})");
  report.add_line(R"({"v":1,"case":"G.N","event":"output","text":"last"})");
  EXPECT_EQ(report.output().size(), 64u * 1024);
  EXPECT_TRUE(report.output().ends_with("xlast"));
  EXPECT_EQ(report.violations(), 0);
}

}  // namespace
}  // namespace proctor
