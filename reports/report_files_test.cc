#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>

#include "harness/core/json.h"
#include "reports/render.h"
#include "reports/report_json.h"
#include "reports/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using nlohmann::json;
using ::testing::HasSubstr;

TEST(ReportJson, IsValidAndTheSchemaNamesEveryKey) {
  TempDir dir;
  auto events = rich_journal();
  for (Event& event : events) {
    auto* end = std::get_if<AttemptEnded>(&event);
    if (end != nullptr && !end->measures.empty()) {
      end->measures.push_back({"none", std::numeric_limits<double>::quiet_NaN(), "", 1, 0});
    }
  }
  write_file(dir.path() / "report.json", report_json(model_of(events)));
  EXPECT_EQ(report_json_complaint(dir.path() / "report.json", true), "");
  std::get<RunPlanned>(events[0]).sim = SimInfo{"xpu:2x2", "intel"};
  write_file(dir.path() / "report.json", report_json(model_of(events)));
  EXPECT_EQ(report_json_complaint(dir.path() / "report.json", true), "");
  write_file(dir.path() / "report.json", report_json(model_of({plan_of({})})));
  EXPECT_EQ(report_json_complaint(dir.path() / "report.json", true), "");
}

TEST(ReportJson, TheSchemaMayGrowButNotShrink) {
  TempDir dir;
  const auto file = dir.path() / "report.json";
  json report = json::parse(report_json(model_of(rich_journal())));
  report["cases"][0]["new_key"] = 1;
  report["run"]["new_key"] = 1;
  write_file(file, report.dump());
  EXPECT_EQ(report_json_complaint(file, false), "");
  EXPECT_NE(report_json_complaint(file, true), "");

  for (const char* path : {"/run/simulated", "/health/1/evidence", "/cases/0/outcome",
                           "/cases/0/attempts/0/exit", "/summary/xpass"}) {
    json broken = report;
    const json::json_pointer pointer(path);
    broken[pointer.parent_pointer()].erase(pointer.back());
    write_file(file, broken.dump());
    EXPECT_NE(report_json_complaint(file, false), "") << path;
  }
  json closed = report;
  closed["summary"]["exploded"] = 0;
  write_file(file, closed.dump());
  EXPECT_THAT(report_json_complaint(file, false), HasSubstr("/summary"));
  EXPECT_THAT(report_json_complaint(dir.path() / "none", false), HasSubstr("FileNotFoundError"));
  write_file(file, "{\"run\": NaN}");
  EXPECT_THAT(report_json_complaint(file, false), HasSubstr("NaN is not JSON"));
}

TEST(ReportJson, HoldsTheFieldsOfTheContract) {
  RunPlanned plan = plan_of({planned("memory.xpu/A.B"), planned("memory.xpu/A.C")});
  plan.sim = SimInfo{"xpu:2x2", "intel"};
  plan.fingerprint = {{"host.kernel", "6.1", "/proc", ""}, {"kmd.xe", {}, "/sys/module/xe", "not loaded"}};
  AttemptEnded end = ended("memory.xpu/A.B", {Outcome::kCrash, "signal:11"});
  end.exit_signal = 11;
  end.termination = {
      15, true, false, 12, {{42, "sleep"}}, {"memory.xpu/A.Pass"}, "it was killed by signal 9"};
  end.measures = {{"bandwidth", 12.5, "GB/s", 5, 0.25}};
  end.properties = {{"seed", "7"}};
  end.rule = "M-1";
  end.severity = "gate";
  const json report =
      json::parse(report_json(model_of({plan, started("memory.xpu/A.B"), end, Warning{"code", "text"}})));
  EXPECT_EQ(report["schema_version"], 1);
  EXPECT_EQ(report["run"]["simulated"], true);
  EXPECT_EQ(report["run"]["sim"]["driver"], "intel");
  EXPECT_EQ(report["run"]["finished"], nullptr);
  EXPECT_EQ(report["run"]["exit_code"], 1);
  EXPECT_EQ(report["run"]["stack"]["xpu.driver"], "22.43.24595.41");
  EXPECT_EQ(report["run"]["fingerprint"][0]["value"], "6.1");
  EXPECT_EQ(report["run"]["fingerprint"][0]["reason"], nullptr);
  EXPECT_EQ(report["run"]["fingerprint"][1]["value"], nullptr);
  EXPECT_EQ(report["run"]["fingerprint"][1]["reason"], "not loaded");
  EXPECT_EQ(report["summary"]["planned"], 2);
  EXPECT_EQ(report["summary"]["notrun"], 1);
  const json& one = report["cases"][0];
  EXPECT_EQ(one["outcome"], "crash");
  EXPECT_EQ(one["reason"], "signal:11");
  EXPECT_EQ(one["rule"], "M-1");
  EXPECT_EQ(one["severity"], "gate");
  EXPECT_EQ(one["measures"][0]["value"], 12.5);
  EXPECT_EQ(one["properties"][0]["value"], "7");
  EXPECT_EQ(report["run"]["devices"][0]["id"], "xpu:0000:03:00.0");
  EXPECT_EQ(one["simulated"], false) << "it held a real device";
  EXPECT_EQ(one["devices"][0], "xpu:0000:03:00.0");
  EXPECT_EQ(one["duration_ms"], 1250);
  EXPECT_EQ(one["attempts"][0]["exit"]["signal"], 11);
  EXPECT_EQ(one["attempts"][0]["exit"]["code"], nullptr);
  EXPECT_EQ(one["attempts"][0]["termination"]["forced"], true);
  EXPECT_EQ(one["attempts"][0]["termination"]["strays"][0]["pid"], 42);
  EXPECT_EQ(one["attempts"][0]["termination"]["guard_lost"], "it was killed by signal 9");
  EXPECT_EQ(one["attempts"][0]["output"]["log"], "logs/0123456789abcdef.1.log");
  EXPECT_EQ(report["cases"][1]["attempts"].size(), 0u);
  EXPECT_EQ(report["warnings"][0]["code"], "code");
}

TEST(Render, WritesAllFilesAndTheSameBytesAgain) {
  TempDir first, second;
  const RunModel live = model_of(rich_journal());
  write_file(first.path() / "journal.jsonl", journal_text(rich_journal()));
  const auto loaded = load_journal(first.path() / "journal.jsonl");
  ASSERT_TRUE(loaded);
  ASSERT_TRUE(render(*loaded, first.path()));
  ASSERT_TRUE(render(*loaded, first.path()));  // over its own files
  ASSERT_TRUE(render(live, second.path()));
  for (const char* name :
       {"junit.xml", "junit/memory.xpu.xml", "junit/attention.none.xml", "report.json", "summary.md"}) {
    const std::string text = read_file_or_empty(first.path() / name);
    EXPECT_FALSE(text.empty()) << name;
    EXPECT_EQ(text, read_file_or_empty(second.path() / name)) << name << ": live and loaded differ";
    EXPECT_FALSE(std::filesystem::exists((first.path() / name).string() + ".part"));
  }
}

TEST(Render, AFileThatCannotBeWrittenIsNamedAndTheOthersAreWritten) {
  TempDir dir;
  std::filesystem::create_directories(dir.path() / "report.json" / "in the way");
  write_file(dir.path() / "junit", "not a directory");
  const auto result = render(model_of(rich_journal()), dir.path());
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what, HasSubstr("report.json: "));
  EXPECT_THAT(result.error().what, HasSubstr("junit/memory.xpu.xml: "));
  EXPECT_FALSE(read_file_or_empty(dir.path() / "junit.xml").empty());
  EXPECT_FALSE(read_file_or_empty(dir.path() / "summary.md").empty());
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "report.json.part"));
}

}  // namespace
}  // namespace proctor
