// Tests the formats for other tools: each file must be valid under its schema, and an independent reader must read it.
#include "reports/formats/formats.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/json.h"
#include "harness/base/words.h"
#include "reports/formats/junit.h"
#include "reports/formats/read_by_others.h"
#include "reports/render.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Write = void (*)(const ResolvedRun&, TextOutput&);

std::string written(Write write, const ResolvedRun& run) {
  return text_of([&](TextOutput& output) { write(run, output); });
}

// Runs with every feature, and runs with none.
std::vector<ResolvedRun> models() {
  RunPlanned plan = plan_of({planned("s/a")});
  plan.shard = PlannedShard{2, 4, 90, "p"};
  plan.sim = SimInfo{"xpu:2x2", "simgpu"};
  plan.started = plan.run_id = awkward_text();
  std::vector<ResolvedRun> all;
  all.push_back(resolved_of(rich_journal()));
  all.push_back(resolved_of({plan_of({})}));
  all.push_back(resolved_of({plan, started("s/a")}));
  return all;
}

class Formats : public testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) {
    write_file(directory_.path() / name, text);
    return directory_.path() / name;
  }
  std::vector<fs::path> write_all(const std::string& name, Write writer) {
    std::vector<fs::path> files;
    for (const ResolvedRun& run : models())
      files.push_back(write(std::to_string(files.size()) + name, written(writer, run)));
    return files;
  }
  TempDir directory_;
};

// ---- JUnit ----

TEST_F(Formats, JunitparserCountsMatchRun) {
  auto files = write_all("junit.xml", write_junit_run);
  const auto extended = write_all("junit-extended.xml", write_junit_extended);
  files.insert(files.end(), extended.begin(), extended.end());
  const auto found = counts("junitparser", files);
  if (!found) GTEST_SKIP() << "junitparser is not installed; ./dev test does it";
  ASSERT_EQ(found->size(), 6u);
  const std::vector<ResolvedRun> runs = models();
  for (std::size_t i = 0; i < 3; ++i) {
    const ResolvedRun& run = runs[i];
    const auto problems = run.problems.size();
    EXPECT_EQ((*found)[i]["tests"], run.cases.size() + problems) << i;
    EXPECT_EQ((*found)[i], (*found)[i + 3]) << "extended " << i;
  }
}

TEST_F(Formats, ExtendedJunitMatchesOnlyExtendedSchema) {
  for (const fs::path& file : write_all("x.xml", write_junit_extended)) {
    EXPECT_EQ(xml_complaint(our_schema("junit-extended.xsd"), file), "") << file;
  }
  const fs::path rich = directory_.path() / "0x.xml";
  EXPECT_NE(xml_complaint(our_schema("junit-portable.xsd"), rich), "");
}

TEST_F(Formats, ExtendedJunitHasPlacesAttachmentsAndTags) {
  RunPlanned plan = plan_of({planned("memory.xpu/A.B"), planned("memory.xpu/A.C")});
  plan.subject.checkout = "/src";
  AttemptEnded end = ended("memory.xpu/A.B", {Outcome::kFail, ""});
  end.failures = {{"M-1", "boom", "/src/suites/copy.cc", 112, "", "", ""}};
  end.measures = {{"bandwidth", 12.5, "GB/s", 3, 0.1}};
  end.evidence.file = "evidence/x.txt";
  end.output = {end.output.log, 100, 0, false, "[[ATTACHMENT|/etc/passwd]] said the test", ""};
  const ResolvedRun run = resolved_of({plan, started("memory.xpu/A.B"), end,
                                       concluded("memory.xpu/A.B", {Outcome::kFail, ""}, {Mark::kLeaky})});
  const std::string xml = written(write_junit_extended, run);
  EXPECT_THAT(xml, HasSubstr("file=\"suites/copy.cc\" line=\"112\""));
  EXPECT_THAT(
      xml,
      HasSubstr("<system-out>[[ATTACHMENT|logs/0123456789abcdef.1.log]]\n[[ATTACHMENT|evidence/x.txt]]\n"));
  EXPECT_THAT(xml, HasSubstr("[\\[ATTACHMENT|/etc/passwd]] said the test"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"dd_tags[device.model]\" value=\"Card\"/>"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"dd_tags[simulated]\" value=\"false\"/>"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"dd_tags[stack.xpu.driver]\" value=\"22.43.24595.41\"/>"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"proctor.measure.bandwidth\" value=\"12.5 GB/s\"/>"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"proctor.mark.leaky\" value=\"true\"/>"));
  EXPECT_THAT(junit_run(run),
              AllOf(HasSubstr("[\\[ATTACHMENT|/etc/passwd]]"), Not(HasSubstr("[[ATTACHMENT"))));
}

TEST_F(Formats, SuiteFilesStayWithinCaseLimit) {
  constexpr int kCases = 9'001;
  std::vector<PlannedCase> cases;
  std::vector<Event> events = {Event{}};
  for (int i = 0; i < kCases; ++i) {
    cases.push_back(planned("memory.xpu/" + std::to_string(i)));
    events.push_back(concluded(cases.back().id, {i % 100 == 0 ? Outcome::kFail : Outcome::kPass, ""}));
  }
  PlannedCase other = planned("other/a");
  other.suite = "memory.xpu";
  // A file name derived from both would be memory.xpu.2.xml, which the second file of memory.xpu has.
  other.backend = "2";
  cases.push_back(other);
  events.push_back(concluded(other.id, {Outcome::kPass, ""}));
  events.front() = plan_of(std::move(cases));
  const auto files = junit_suites(resolved_of(events));
  std::vector<std::string> names;
  for (const JunitFile& file : files) names.push_back(file.name);
  EXPECT_THAT(names,
              ElementsAre("memory.xpu.xml", "memory.xpu.2.xml", "memory.xpu.3.xml", "memory.xpu.2-2.xml"));
  EXPECT_THAT(files[0].text, HasSubstr("tests=\"4500\" failures=\"45\" errors=\"0\""));
  EXPECT_THAT(files[2].text, HasSubstr("tests=\"1\" failures=\"1\" errors=\"0\""));
  for (const JunitFile& file : files)
    EXPECT_EQ(xml_complaint(our_schema("junit-strict.xsd"), write("x.xml", file.text)), "") << file.name;
}

TEST_F(Formats, SuiteFilesStayWithinSizeLimit) {
  constexpr int kCases = 1'000;
  const std::string message(40'000, 'x');
  std::vector<PlannedCase> cases;
  std::vector<Event> events = {Event{}};
  for (int i = 0; i < kCases; ++i) {
    cases.push_back(planned("memory.xpu/" + std::to_string(i)));
    AttemptEnded end = ended(cases.back().id, {Outcome::kFail, ""});
    end.failures = {{"M-1", message, "", 0, "", "", ""}};
    events.push_back(started(end.case_id));
    events.push_back(end);
  }
  events.front() = plan_of(std::move(cases));
  std::size_t all = 0;
  std::size_t files = 0;
  for (const JunitFile& file : junit_suites(resolved_of(events))) {
    EXPECT_LE(file.text.size(), 25'000'000u) << file.name;
    all += file.text.size();
    ++files;
  }
  EXPECT_GT(all, 40'000'000u);
  EXPECT_EQ(files, 3u);
}

// ---- CTRF ----

TEST_F(Formats, CtrfIsValidAndCountsMatchRun) {
  const auto files = write_all("ctrf.json", write_ctrf);
  for (const fs::path& schema : ctrf_schemas()) {
    const auto found = counts("ctrf", files, schema);
    if (!found) GTEST_SKIP() << "jsonschema is not installed";
    const std::vector<ResolvedRun> runs = models();
    for (std::size_t i = 0; i < found->size(); ++i) {
      const ResolvedRun& run = runs[i];
      EXPECT_EQ((*found)[i]["tests"], run.cases.size() + run.problems.size()) << schema;
    }
  }
}

TEST_F(Formats, CtrfSchemaRejectsBrokenReports) {
  const fs::path good = write("good.json", written(write_ctrf, resolved_of(rich_journal())));
  if (!counts("ctrf", {good}, our_schema("ctrf.schema.json"))) GTEST_SKIP() << "jsonschema is not installed";
  json report = json::parse(written(write_ctrf, resolved_of(rich_journal())));
  for (const auto& [pointer, value] :
       std::vector<std::pair<std::string, json>>{{"/results/tests/0/status", "green"},
                                                 {"/results/tests/0/duration", 1.5},
                                                 {"/results/tests/0/mine", 1}}) {
    json broken = report;
    broken[json::json_pointer(pointer)] = value;
    EXPECT_NE(
        complaint_of_reader("ctrf", write("broken.json", broken.dump()), our_schema("ctrf.schema.json")), "")
        << pointer;
  }
}

TEST_F(Formats, CtrfKeepsProctorOutcomes) {
  RunPlanned plan = plan_of({planned("memory.xpu/A.B"), planned("memory.xpu/A.C")});
  plan.subject.commit = {"0123abc", "GITHUB_SHA", ""};
  const ResolvedRun run =
      resolved_of({plan, started("memory.xpu/A.B", 1),
                   ended("memory.xpu/A.B", {Outcome::kCrash, {Reason::kSignal, 11}}, 1),
                   started("memory.xpu/A.B", 2), ended("memory.xpu/A.B", {Outcome::kPass, ""}, 2),
                   concluded("memory.xpu/A.B", {Outcome::kPass, ""}, {Mark::kFlaky})});
  const json report = json::parse(written(write_ctrf, run));
  const json& results = report["results"];
  EXPECT_EQ(results["environment"]["commit"], "0123abc");
  const json& flaky = results["tests"][0];
  EXPECT_EQ(flaky["status"], "passed");
  EXPECT_EQ(flaky["flaky"], true);
  EXPECT_EQ(flaky["retries"], 1);
  EXPECT_EQ(flaky["retryAttempts"][0]["status"], "failed");
  EXPECT_EQ(flaky["retryAttempts"][0]["extra"]["proctor"]["outcome"], "crash");
  EXPECT_EQ(flaky["testId"], "memory.xpu/A.B");
  const json& notrun = results["tests"][1];
  EXPECT_EQ(notrun["status"], "other");
  EXPECT_EQ(notrun["rawStatus"], "notrun");
  EXPECT_EQ(notrun["extra"]["proctor"]["reason"], "interrupted");
  EXPECT_EQ(results["summary"]["other"], 1);
  EXPECT_EQ(results["summary"]["start"], 1769860800000);
  EXPECT_EQ(results["tests"][2]["suite"][0], "proctor.run") << "what reddens the run and is no case";
}

// Returns a run with a case that fails on only one of two devices, and another case that fails on both.
ResolvedRun each_device_model() {
  RunPlanned plan = plan_of({planned("s/bad"), planned("s/both")});
  plan.rules.each_device = true;
  plan.devices = {{"xpu-sim:0", "xpu", "Simulated GPU 100"}, {"xpu-sim:1", "xpu", "Simulated GPU 100"}};
  std::vector<Event> events = {plan};
  for (int repeat = 1; repeat <= 20; ++repeat) {
    for (const std::string id : {"s/bad", "s/both"}) {
      AttemptStarted start = started(id, 1, repeat);
      start.devices = {"xpu-sim:" + std::to_string(repeat % 2)};
      const bool bad = id == "s/both" || repeat % 2 == 1;
      events.insert(events.end(), {start, ended(id, {bad ? Outcome::kFail : Outcome::kPass, ""}, 1, repeat)});
    }
  }
  events.push_back(CasePast{"s/bad", 9, 0, 0, "", "0123abc"});
  events.push_back(CasePast{"s/both", 9, 2, 0, "4567def", ""});
  events.push_back(RunEnded{"2026-01-31T12:00:09Z", 9000});
  return resolved_of(events);
}

TEST_F(Formats, ReportsHaveDeviceFindingsAndNewFailures) {
  const ResolvedRun run = each_device_model();
  const fs::path file = write("report.json", report_json(run));
  EXPECT_EQ(report_json_complaint(file, true), "");
  const json report = json::parse(report_json(run));
  const json& devices = report["run"]["devices"];
  EXPECT_EQ(devices[1]["attempts"], 20);
  EXPECT_EQ(devices[1]["failed_attempts"], 20);
  EXPECT_EQ(devices[0]["failed_attempts"], 10);
  EXPECT_EQ(devices[0]["is_outlier"], false);
  const json& bad = report["cases"][0];
  EXPECT_EQ(bad["by_device"]["suspect"], "device");
  EXPECT_EQ(bad["by_device"]["devices"], json::array({"xpu-sim:1"}));
  EXPECT_LT(bad["by_device"]["p"], 0.01);
  EXPECT_EQ(bad["by_device"]["counts"][1],
            (json{{"device", "xpu-sim:1"}, {"attempts", 10}, {"failed_attempts", 10}}));
  EXPECT_EQ(bad["history"], (json{{"new", true},
                                  {"runs", 9},
                                  {"failing_runs", 0},
                                  {"flaky_runs", 0},
                                  {"since", nullptr},
                                  {"passed", "0123abc"}}));
  const json& both = report["cases"][1];
  EXPECT_EQ(both["by_device"]["suspect"], "code");
  EXPECT_EQ(both["by_device"]["p"], nullptr);
  EXPECT_EQ(both["history"]["since"], "4567def");
  const json ctrf = json::parse(written(write_ctrf, run))["results"]["tests"];
  EXPECT_EQ(ctrf[0]["extra"]["proctor"]["by_device"], bad["by_device"]);
  EXPECT_EQ(ctrf[1]["extra"]["proctor"]["history"], both["history"]);

  const std::string junit = junit_run(run);
  EXPECT_THAT(junit,
              HasSubstr("<property name=\"proctor.by_device.s/bad\" value=\"xpu-sim:1: it fails there"));
  EXPECT_THAT(
      junit,
      HasSubstr("devices: the code: it fails on every device\nhistory: first failed in 4567def (3 runs)\n"));
  const std::string extended = written(write_junit_extended, run);
  EXPECT_THAT(extended,
              HasSubstr("<property name=\"proctor.by_device\" value=\"the code: it fails on every "));
  EXPECT_THAT(extended, HasSubstr("<property name=\"proctor.history\" value=\"NEW: passed in 0123abc\"/>"));
  const std::string summary = summary_markdown(run);
  EXPECT_THAT(summary, HasSubstr("| `s/both` | the code: it fails on every device | xpu-sim:0: 10 of 10, "
                                 "xpu-sim:1: 10 of 10 |\n"));
  EXPECT_THAT(summary, HasSubstr("| `s/bad` | xpu-sim:1: it fails there more often than chance explains"));
  EXPECT_THAT(summary, Not(HasSubstr("Code or device?")));
}

// ---- OpenTelemetry and OpenMetrics ----

TEST_F(Formats, OpenTelemetryReadsTheTrace) {
  const auto found = counts("otlp", write_all("otlp.json", write_otlp));
  if (!found) GTEST_SKIP() << "opentelemetry-proto is not installed; ./dev test does it";
  const std::vector<ResolvedRun> runs = models();
  const ResolvedRun& rich = runs[0];
  std::size_t spans = 1;
  for (const ResolvedCase& test : rich.cases) spans += std::max<std::size_t>(test.attempts.size(), 1);
  EXPECT_EQ((*found)[0]["spans"], spans);
  EXPECT_EQ((*found)[1], json({{"spans", 1}, {"ERROR", 1}}));
}

TEST_F(Formats, SpanStatusFollowsCaseOutcome) {
  const std::string id = "memory.xpu/A.B";
  const ResolvedRun run =
      resolved_of({plan_of({planned(id)}), started(id), ended(id, {Outcome::kFail, ""}),
                   concluded(id, {Outcome::kXfail, reason_in_words("fail")}), RunEnded{"x", 2000}});
  const json trace = json::parse(written(write_otlp, run));
  const json& spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"];
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["status"]["code"], 1) << "the run passed";
  EXPECT_EQ(spans[1]["status"]["code"], 0) << "a failure that is known has neither status";
  EXPECT_EQ(spans[1]["parentSpanId"], spans[0]["spanId"]);
  EXPECT_EQ(spans[1]["startTimeUnixNano"], "1769860800100000000");
  std::map<std::string, std::string> attributes;
  for (const json& attribute : spans[1]["attributes"])
    attributes[attribute["key"]] = attribute["value"].value("stringValue", "");
  EXPECT_EQ(attributes["test.case.name"], id);
  EXPECT_EQ(attributes["test.case.result.status"], "xfail");
  EXPECT_EQ(attributes["test.suite.name"], "memory.xpu");
}

// A known failure is not a failure in any of its repeats, and a repeat is not a retry.
TEST_F(Formats, RepeatsOfKnownFailureAreNotRetries) {
  const Verdict crash{Outcome::kCrash, {Reason::kSignal, 11}};
  const ResolvedRun run = resolved_of(
      {plan_of({planned("s/a")}), started("s/a", 1, 1), ended("s/a", crash, 1, 1), started("s/a", 1, 2),
       ended("s/a", crash, 1, 2), concluded("s/a", {Outcome::kXfail, {Reason::kSignal, 11}}),
       RunEnded{"2026-01-31T12:00:09Z", 9000}});
  EXPECT_THAT(written(write_otlp, run), Not(HasSubstr("\"fail\"")));
  const json report = json::parse(written(write_ctrf, run));
  const json& test = report["results"]["tests"][0];
  EXPECT_EQ(test["retries"], 0);
  EXPECT_EQ(test["retryAttempts"].size(), 1U);
}

TEST_F(Formats, TestPropertiesCannotOverrideOutcome) {
  AttemptEnded end = ended("s/a", {Outcome::kFail, ""});
  end.properties = {{"proctor.outcome", "pass"}, {"dd_tags[simulated]", "no"}, {"mode", "fast"}};
  const ResolvedRun run =
      resolved_of({plan_of({planned("s/a")}), started("s/a"), end, concluded("s/a", {Outcome::kFail, ""}),
                   RunEnded{"2026-01-31T12:00:09Z", 9000}});
  const std::string xml = written(write_junit_extended, run);
  EXPECT_THAT(xml, AllOf(HasSubstr("\"mode\""), HasSubstr("name=\"proctor.outcome\" value=\"fail\"")));
  EXPECT_THAT(xml, Not(HasSubstr("value=\"pass\"")));
  EXPECT_THAT(xml, Not(HasSubstr("value=\"no\"")));
}

TEST_F(Formats, MetricsCountByOutcomeWithoutCaseNames) {
  const std::string rich = written(write_metrics, resolved_of(rich_journal()));
  EXPECT_THAT(rich, HasSubstr("proctor_cases{suite=\"memory\",backend=\"xpu\",outcome=\"crash\"} 2\n"));
  EXPECT_THAT(rich, HasSubstr("proctor_cases_flaky{suite=\"memory\",backend=\"xpu\"} 1\n"));
  EXPECT_THAT(rich, Not(HasSubstr("Every.")));
  EXPECT_TRUE(rich.ends_with("# EOF\n"));
  for (const ResolvedRun& run : models()) {
    const std::string text = written(write_metrics, run);
    for (const std::string_view line : lines_of(text)) {
      const bool comment =
          line.starts_with("# TYPE proctor_") || line.starts_with("# HELP proctor_") || line == "# EOF";
      const auto value = line.substr(line.rfind(' ') + 1);
      EXPECT_TRUE(comment ||
                  (line.starts_with("proctor_") && value.find_first_not_of("0123456789.e+-") == value.npos))
          << line;
    }
  }
}

// ---- The selection of formats, and their files ----

TEST(ReportFormats, ParsesCommaSeparatedList) {
  const auto words = [](const std::string& list) {
    const auto formats = parse_formats(list);
    return formats ? std::to_string(formats->size()) : formats.error().what + " " + formats.error().hint;
  };
  EXPECT_EQ(words("json"), "1");
  EXPECT_EQ(words("otlp, metrics,junit-extended"), "3");
  EXPECT_EQ(words("all"), std::to_string(all_formats().size()));
  EXPECT_EQ(words("json,jnit"), "read --format json,jnit: there is no format `jnit` Did you mean `junit`?");
  EXPECT_THAT(words(""), HasSubstr("Known formats: all, json, junit, junit-extended, "));
  for (const ReportFormat& format : all_formats()) EXPECT_THAT(words(""), HasSubstr(format.name));
  EXPECT_THAT(words("json,"), HasSubstr("there is no format ``"));
}

TEST(ReportFormats, DocumentationListsEachFormat) {
  const std::string page = read_file_or_empty(std::string(PROCTOR_SOURCE_DIR) + "/docs/how-to/ci.md");
  for (const ReportFormat& format : all_formats()) {
    EXPECT_THAT(page, HasSubstr(fmt::format("| `{}`{} | `{}` |", format.name, format.is_default ? " *" : "",
                                            format.file)));
  }
}

TEST(ReportFormats, RenderWritesOnlySelectedFormats) {
  TempDir directory;
  const ResolvedRun run = resolved_of(rich_journal());
  const auto there = [&] {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory.path()))
      names.insert(entry.path().filename().string());
    return names;
  };
  ASSERT_TRUE(render(run, directory.path(), *parse_formats("otlp")));
  EXPECT_EQ(there(), std::set<std::string>{"otlp.json"});
  ASSERT_TRUE(render(run, directory.path()));
  std::set<std::string> left = {"otlp.json"};
  for (const ReportFormat* format : default_formats()) {
    left.emplace(format->file);
    if (!format->directory.empty()) left.emplace(format->directory);
  }
  EXPECT_EQ(there(), left);
}

}  // namespace
}  // namespace proctor
