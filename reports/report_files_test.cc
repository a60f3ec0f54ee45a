#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>

#include "harness/base/json.h"
#include "reports/formats/formats.h"
#include "reports/render.h"
#include "reports/resolve/run_resolver.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using nlohmann::json;
using ::testing::HasSubstr;

TEST(ReportJson, MatchesStrictSchema) {
  TempDir dir;
  auto events = rich_journal();
  for (Event& event : events) {
    auto* end = std::get_if<AttemptEnded>(&event);
    if (end != nullptr && !end->measures.empty()) {
      end->measures.push_back({"none", std::numeric_limits<double>::quiet_NaN(), "", 1, 0});
    }
  }
  write_file(dir.path() / "report.json", report_json(resolved_of(events)));
  EXPECT_EQ(report_json_complaint(dir.path() / "report.json", true), "");
  std::get<RunPlanned>(events[0]).sim = SimInfo{"xpu:2x2", "intel"};
  write_file(dir.path() / "report.json", report_json(resolved_of(events)));
  EXPECT_EQ(report_json_complaint(dir.path() / "report.json", true), "");
  write_file(dir.path() / "report.json", report_json(resolved_of({plan_of({})})));
  EXPECT_EQ(report_json_complaint(dir.path() / "report.json", true), "");
}

TEST(ReportJson, SchemaAllowsNewKeysOnly) {
  TempDir dir;
  const auto file = dir.path() / "report.json";
  json report = json::parse(report_json(resolved_of(rich_journal())));
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

TEST(ReportJson, HasDocumentedFields) {
  RunPlanned plan = plan_of({planned("memory.xpu/A.B"), planned("memory.xpu/A.C")});
  plan.sim = SimInfo{"xpu:2x2", "intel"};
  plan.fingerprint = {{"host.kernel", "6.1", "/proc", ""}, {"kmd.xe", {}, "/sys/module/xe", "not loaded"}};
  AttemptEnded end = ended("memory.xpu/A.B", {Outcome::kCrash, {Reason::kSignal, 11}});
  end.exit_signal = 11;
  end.termination = {
      15, true, false, 12, {{42, "sleep"}}, {"memory.xpu/A.Pass"}, "it was killed by signal 9"};
  end.measures = {{"bandwidth", 12.5, "GB/s", 5, 0.25}};
  end.properties = {{"seed", "7"}};
  end.trials = {{true, {{"source", "A"}, {"target", "B"}}}};
  end.rule = "M-1";
  end.severity = Severity::kGate;
  const json report = json::parse(report_json(
      resolved_of({plan, started("memory.xpu/A.B"), end, Warning{WarningWord::in_text("code"), "text"}})));
  EXPECT_EQ(report["schema_version"], 2);
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
  EXPECT_EQ(
      one["attempts"][0]["trials"],
      json::parse(
          R"([{"ok":true,"devices":[{"role":"source","device":"A"},{"role":"target","device":"B"}]}])"));
  EXPECT_EQ(report["run"]["devices"][0]["id"], "xpu:0000:03:00.0");
  EXPECT_EQ(one["simulated"], false) << "it held a real device";
  EXPECT_EQ(one["devices"][0], "xpu:0000:03:00.0");
  EXPECT_EQ(one["duration_ms"], 1250);
  EXPECT_EQ(one["attempts"][0]["exit"]["signal"], 11);
  EXPECT_EQ(one["attempts"][0]["exit"]["code"], nullptr);
  EXPECT_EQ(one["attempts"][0]["termination"]["forced"], true);
  EXPECT_EQ(one["attempts"][0]["termination"]["leaked_processes"][0]["pid"], 42);
  EXPECT_EQ(one["attempts"][0]["termination"]["guard_lost"], "it was killed by signal 9");
  EXPECT_EQ(one["attempts"][0]["output"]["log"], "logs/0123456789abcdef.1.log");
  EXPECT_EQ(report["cases"][1]["attempts"].size(), 0u);
  EXPECT_EQ(report["warnings"][0]["code"], "code");
}

// A gate reads these members: an unknown value is null and has a reason.
TEST(ReportJson, HasTestedCommitAndPrograms) {
  RunPlanned plan = plan_of({});
  plan.subject.commit = {"0123abc", "GITHUB_SHA", ""};
  plan.subject.dirty = {"false", "git status", ""};
  plan.subject.branch = {{}, "", "HEAD is detached"};
  plan.suites = {{"a", "none", "gtest", {"build/a", "-q"}, "/b/a", 7, ""},
                 {"late", "none", "gtest", {"late"}, "/b/late", 8, ""},
                 {"gone", "none", "command", {"gone"}, "", 0, "no such file"}};
  plan.known_failures = KnownFailuresFile{"known.toml", "ff"};
  plan.size = "full";
  const json report = json::parse(report_json(resolved_of({plan, ProgramRead{"/b/a", "aa", ""}})));
  const json& subject = report["run"]["subject"];
  EXPECT_EQ(subject["commit"], json({{"value", "0123abc"}, {"source", "GITHUB_SHA"}, {"reason", nullptr}}));
  EXPECT_EQ(subject["dirty"]["value"], false);
  EXPECT_EQ(subject["branch"],
            json({{"value", nullptr}, {"source", nullptr}, {"reason", "HEAD is detached"}}));
  EXPECT_EQ(subject["build"]["reason"], "the journal does not contain this fact");
  EXPECT_EQ(report["run"]["known_failures"],
            json({{"file", "known.toml"}, {"sha256", "ff"}, {"entries", json::array()}}));
  EXPECT_EQ(report["run"]["size"], "full");
  EXPECT_EQ(report["run"]["profile"], nullptr);
  const json& suites = report["suites"];
  EXPECT_EQ(suites[0]["command"], json({"build/a", "-q"}));
  EXPECT_EQ(suites[0]["sha256"], "aa");
  EXPECT_EQ(suites[0]["bytes"], 7);
  EXPECT_EQ(suites[0]["reason"], nullptr);
  EXPECT_EQ(suites[1]["sha256"], nullptr);
  EXPECT_EQ(suites[1]["reason"], "the run ended before it was read");
  EXPECT_EQ(suites[2]["program"], nullptr);
  EXPECT_EQ(suites[2]["reason"], "no such file");
  const json old = json::parse(report_json(resolved_of({plan_of({})})));
  EXPECT_EQ(old["run"]["known_failures"], nullptr);
  EXPECT_EQ(old["suites"].size(), 0u);
}

TEST(ReportJson, HasExpiryOfKnownFailures) {
  RunPlanned plan = plan_of({planned("memory.xpu/A"), planned("memory.xpu/B")});
  plan.known_failures =
      KnownFailuresFile{"known.toml",
                        "ff",
                        {{"known.toml:1", {"memory.xpu/*"}, "seen", "i/1", "us", "2026-01-01", "2026-02-28"},
                         {"known.toml:9", {"x"}, "seen", "", "", "", "2026-01-30"}}};
  CaseEnded failed = concluded("memory.xpu/A", {Outcome::kXfail, reason_in_words("M-1")});
  CaseEnded passed = concluded("memory.xpu/B", {Outcome::kXpass, ""});
  failed.known_failure_location = passed.known_failure_location = "known.toml:1";
  const ResolvedRun run = resolved_of({plan, failed, passed});
  const json report = json::parse(report_json(run));
  EXPECT_EQ(
      report["run"]["known_failures"]["entries"],
      json::parse(
          R"([{"location":"known.toml:1","cases":["memory.xpu/*"],"source":"seen","issue":"i/1","owner":"us",
                             "added":"2026-01-01","expires":"2026-02-28","days_left":28,"hits":1},
                            {"location":"known.toml:9","cases":["x"],"source":"seen","issue":null,"owner":null,
                             "added":null,"expires":"2026-01-30","days_left":-1,"hits":0}])"));
  EXPECT_EQ(report["cases"][0]["known_failure_location"], "known.toml:1");
  EXPECT_EQ(run.cases[0].known_failure->owner, "us");
  EXPECT_EQ((*resolved_of({plan}).find("memory.xpu/A")).known_failure, nullptr);
}

TEST(ReportJson, HasHardwareEvidence) {
  const HardwareEvidence evidence{.id = "xpu:0000:03:00.0",
                                  .when = "start",
                                  .pci = "0000:03:00.0",
                                  .vendor = "8086",
                                  .device = "e20b",
                                  .kernel_driver = "xe",
                                  .driver_file = "/usr/lib/libze_intel_gpu.so.1",
                                  .driver_build_id = "ab12",
                                  .gaps = {"boot_id: unreadable"},
                                  .at_ms = 7};
  const ResolvedRun run = resolved_of({plan_of({}), evidence});
  ASSERT_EQ(run.hardware.size(), 1u);
  EXPECT_EQ(
      json::parse(report_json(run))["hardware"],
      json::parse(
          R"([{"id":"xpu:0000:03:00.0","when":"start","pci":"0000:03:00.0","vendor":"8086","device":"e20b",
                             "kernel_driver":"xe","driver_file":"/usr/lib/libze_intel_gpu.so.1","driver_build_id":"ab12",
                             "boot_id":"","simulator":false,"gaps":["boot_id: unreadable"],"at_ms":7}])"));
  EXPECT_EQ(json::parse(report_json(resolved_of({plan_of({})})))["hardware"], json::array());
}

// The writer must not hold more output for 20,000 cases than for one case.
TEST(ReportJson, StreamsCasesAndOmitsEmptyFields) {
  std::vector<PlannedCase> cases;
  std::vector<Event> events = {Event{}};
  constexpr int kCases = 20'000;
  for (int i = 0; i < kCases; ++i) {
    const std::string id = "s/" + std::to_string(i);
    cases.push_back(planned(id));
    events.push_back(started(id));
    events.push_back(ended(id, {Outcome::kPass, ""}));
  }
  events.front() = plan_of(std::move(cases));
  const ResolvedRun run = resolved_of(events);
  std::size_t largest = 0;
  std::size_t all = 0;
  {
    TextOutput output([&](std::string_view piece) {
      largest = std::max(largest, piece.size());
      all += piece.size();
    });
    write_report_json(run, output);
  }
  EXPECT_LT(largest, 100'000u);
  EXPECT_LT(all / kCases, 900u);
  const json one = json::parse(report_json(run))["cases"][0];
  for (const char* nothing : {"properties"}) EXPECT_FALSE(one.contains(nothing)) << nothing;
  for (const char* nothing : {"marks", "environment", "evidence", "telemetry", "diagnosis", "trials"})
    EXPECT_FALSE(one["attempts"][0].contains(nothing)) << nothing;
}

TEST(ReportJson, ListsMissingTelemetryOnce) {
  std::vector<Event> events = {plan_of({planned("s/a"), planned("s/b")})};
  for (const std::string id : {"s/a", "s/b"}) {
    AttemptEnded end = ended(id, {Outcome::kPass, ""});
    end.telemetry = {{{"cpu_time", "s", "cgroup", 1, {}, {}, {}, {}, 0.5, {}, ""}},
                     {{"xpu-sim:0", {{"power", "W", "", 0, {}, {}, {}, {}, {}, {}, "not offered"}}}}};
    events.push_back(started(id));
    events.push_back(end);
  }
  const json report = json::parse(report_json(resolved_of(events)));
  const json& telemetry = report["cases"][1]["attempts"][0]["telemetry"];
  EXPECT_EQ(telemetry["host"].size(), 1u);
  EXPECT_EQ(telemetry["devices"][0]["figures"].size(), 0u);
  EXPECT_EQ(report["telemetry_gaps"],
            json({{{"of", "xpu-sim:0"}, {"name", "power"}, {"note", "not offered"}, {"attempts", 2}}}));
}

TEST(Render, WritesAllFilesReproducibly) {
  TempDir first, second;
  const ResolvedRun live = resolved_of(rich_journal());
  write_file(first.path() / "journal.jsonl", journal_text(rich_journal()));
  const auto loaded = load_journal(first.path() / "journal.jsonl");
  ASSERT_TRUE(loaded);
  ASSERT_TRUE(render(*loaded, first.path()));
  ASSERT_TRUE(render(*loaded, first.path()));  // replaces its own files
  ASSERT_TRUE(render(live, second.path()));
  for (const char* name :
       {"junit.xml", "junit/memory.xpu.xml", "junit/attention.none.xml", "report.json", "summary.md"}) {
    const std::string text = read_file_or_empty(first.path() / name);
    EXPECT_FALSE(text.empty()) << name;
    EXPECT_EQ(text, read_file_or_empty(second.path() / name)) << name << ": live and loaded differ";
    EXPECT_FALSE(std::filesystem::exists((first.path() / name).string() + ".part"));
  }
}

TEST(Render, ContinuesAfterUnwritableFile) {
  TempDir dir;
  std::filesystem::create_directories(dir.path() / "report.json" / "in the way");
  write_file(dir.path() / "junit", "not a directory");
  const auto result = render(resolved_of(rich_journal()), dir.path());
  ASSERT_FALSE(result);
  const std::string& what = result.error().what;
  EXPECT_THAT(what, HasSubstr("write report.json in " + dir.path().string() + ": Is a directory (EISDIR)"));
  EXPECT_THAT(what, HasSubstr("junit/memory.xpu.xml"));
  EXPECT_THAT(what, HasSubstr("junit/attention.none.xml"));
  EXPECT_EQ(what.find("ENOTDIR"), what.rfind("ENOTDIR")) << what << ": a reason stands there twice";
  EXPECT_FALSE(read_file_or_empty(dir.path() / "junit.xml").empty());
  EXPECT_FALSE(read_file_or_empty(dir.path() / "summary.md").empty());
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "report.json.part"));
}

}  // namespace
}  // namespace proctor
