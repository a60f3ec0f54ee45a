#include "reports/accept/accept_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/replace_file.h"
#include "harness/base/temp_dir.h"
#include "harness/base/words.h"
#include "reports/accept/accept_words.h"
#include "reports/accept/test_report.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

AcceptReport report_of(const json& document) {
  auto report = parse_accept_report(document.dump());
  EXPECT_TRUE(report) << report.error().what;
  return report ? *std::move(report) : AcceptReport();
}

std::string headline_of(const std::string& verdict, int code, const std::vector<json>& devices) {
  const AcceptReport report = report_of(accept_report_json(verdict, code, devices));
  return headline(report.verdict) + ": " + accept_details(report);
}

std::size_t columns_of(const std::string& text) {
  std::size_t most = 0;
  for (const std::string_view line : lines_of(text)) {
    const auto columns = std::ranges::count_if(
        line, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
    most = std::max(most, static_cast<std::size_t>(columns));
  }
  return most;
}

TEST(AcceptReport, HeadlineNamesTheDevicesAndTheAction) {
  const json good = accept_device_json(0, "passed"), other = accept_device_json(1, "passed");
  EXPECT_EQ(headline_of("passed", 0, {good, other}), "PASSED: 2 of 2 GPUs");
  EXPECT_EQ(accept_details(report_of(one_failed_of_four())), "1 of 4 GPUs: replace cuda-sim:2");
  EXPECT_EQ(headline_of("failed", 1,
                        {accept_device_json(0, "failed", "reset"), accept_device_json(1, "failed", "replace"),
                         accept_device_json(2, "incomplete")}),
            "FAILED: 2 of 3 GPUs: replace cuda-sim:1; reset cuda-sim:0; incomplete: cuda-sim:2");
  EXPECT_EQ(headline_of("incomplete", 3, {good, accept_device_json(1, "incomplete")}),
            "INCOMPLETE: 1 of 2 GPUs: cuda-sim:1");
  EXPECT_EQ(headline_of("interrupted", 130, {good}), "INTERRUPTED: stopped by SIGINT");
  EXPECT_EQ(headline_of("interrupted", 3, {good}), "INTERRUPTED: the run was cut short");
  EXPECT_EQ(headline_of("incomplete", 3, {}), "INCOMPLETE: there is no device");
}

TEST(AcceptReport, MetaLineHasExitCode) {
  EXPECT_EQ(accept_meta_line(report_of(one_failed_of_four())),
            "level 1 · 4.2 s · host node1 · simulated: no evidence about hardware · exit 1 (failed)");
  const auto stopped = report_of(accept_report_json("interrupted", 130, {accept_device_json(0, "passed")}));
  EXPECT_THAT(accept_meta_line(stopped), HasSubstr("exit 130 (interrupted)"));
}

TEST(AcceptTable, HasMarkPerDeviceAndStep) {
  EXPECT_EQ(accept_step_table(report_of(one_failed_of_four()), 120),
            "DEVICE      MODEL               driver  copy  VERDICT  ACTION\n"
            "cuda-sim:0  Simulated GPU A40G    ✓      ✓    passed   -\n"
            "cuda-sim:1  Simulated GPU A40G    ✓      ✓    passed   -\n"
            "cuda-sim:2  Simulated GPU A40G    ✓      ✗    failed   replace\n"
            "cuda-sim:3  Simulated GPU A40G    ✓      ✓    passed   -\n"
            "✓ proven   ✗ failed   ~ partly   · not tried\n");
}

// Eight devices with the ids of hardware, and all steps.
AcceptReport large_machine() {
  std::vector<json> devices;
  for (int i = 0; i < 8; ++i) {
    json device = accept_device_json(i, i == 3 ? "failed" : "passed", i == 3 ? "fix software" : "");
    device["id"] = fmt::format("cuda:GPU-{}7d38ec8-1e3d-b106-c12f-20bd9faad9f6", i);
    device["model"] = "NVIDIA H100 80GB HBM3";
    device["steps"] = json::array();
    for (const AcceptStep& step : accept_steps())
      device["steps"].push_back(accept_step_json(std::string(step.name), i == 3 ? "partly" : "proven"));
    device["figures"] = json::array();
    for (const char* name : {"memory.bandwidth.device_to_device", "kernels.saxpy"})
      device["figures"].push_back(
          {{"name", name}, {"unit", "GB/s"}, {"value", 2000 + 100 * i}, {"best_of_model", 2700}});
    devices.push_back(device);
  }
  return report_of(accept_report_json("failed", 1, devices));
}

TEST(AcceptTable, FitsEachConsoleWidth) {
  const AcceptReport report = large_machine();
  for (const std::size_t columns : {80u, 100u, 120u, 200u}) {
    const std::string table = accept_step_table(report, columns);
    EXPECT_LE(columns_of(table), columns) << table;
    for (const AcceptedDevice& device : report.devices)
      EXPECT_THAT(table, HasSubstr("\n" + device.id.substr(0, 19)));
    EXPECT_LE(columns_of(accept_speed_table(report, columns)), columns)
        << accept_speed_table(report, columns);
  }
  const std::string narrow = accept_step_table(report, 80);
  EXPECT_THAT(narrow, HasSubstr("a driver"));
  EXPECT_THAT(narrow, HasSubstr("p visibility"));
}

TEST(AcceptTable, ShortenedIdsStayDistinct) {
  json first = accept_device_json(0, "passed"), second = accept_device_json(1, "passed");
  first["id"] = "cuda:GPU-00000000-1e3d-b106-c12f-20bd9faad9f6";
  second["id"] = "cuda:GPU-00000000-1e3d-b106-c12f-20bd9faad9f7";
  const std::string table =
      accept_step_table(report_of(accept_report_json("passed", 0, {first, second})), 120);
  EXPECT_THAT(table, HasSubstr("20bd9faad9f6"));
  EXPECT_THAT(table, HasSubstr("20bd9faad9f7"));
}

TEST(AcceptTable, BarsOfOneModelShareScale) {
  json first = accept_device_json(0, "passed"), second = accept_device_json(1, "passed");
  first["figures"] = {
      {{"name", "x"}, {"unit", "GB/s"}, {"value", 100}, {"floor", 90.0}, {"best_of_model", 100}}};
  second["figures"] = {{{"name", "x"},
                        {"unit", "GB/s"},
                        {"value", 50},
                        {"floor", 90.0},
                        {"best_of_model", 100},
                        {"verdict", "low"}}};
  EXPECT_EQ(accept_speed_table(report_of(accept_report_json("failed", 1, {first, second})), 120),
            "Simulated GPU A40G  cuda-sim:0      cuda-sim:1       FLOOR  BEST\n"
            "x GB/s              ██████████ 100  █████      50 ✗  90     100\n");
}

std::vector<std::string> points_of(const json& document, std::string_view label) {
  std::vector<std::string> texts;
  for (const auto& [of, text] : open_points(report_of(document))) {
    if (of == label) texts.push_back(text);
  }
  return texts;
}

TEST(AcceptReport, UncomparedSpeedsHaveReason) {
  json first = accept_device_json(0, "passed"), second = accept_device_json(1, "passed");
  for (json* device : {&first, &second})
    (*device)["figures"] = {{{"name", "x"}, {"unit", "GB/s"}, {"value", 1}}};
  json document = accept_report_json("passed", 0, {first, second});
  EXPECT_THAT(
      points_of(document, "Speeds"),
      ElementsAre("not compared, because simulated speeds are those of the host, and have no floor: x"));
  document["simulated"] = false;
  EXPECT_THAT(
      points_of(document, "Speeds"),
      ElementsAre("not compared, because devices share the link to the host, and there is no floor: x"));
  document["devices"][1]["model"] = "another";
  EXPECT_THAT(points_of(document, "Speeds"),
              ElementsAre("not compared, because there is no floor, and no other device of the model: x"));
}

TEST(AcceptReport, ConsoleAndSummaryListOpenPoints) {
  json document = accept_report_json("incomplete", 3, {accept_device_json(0, "passed")});
  document["gaps"] = {"one device too many"};
  document["omitted_steps"] = {"links", "training"};
  document["problems"] = {"the library is missing"};
  const AcceptReport report = report_of(document);
  const std::string console = accept_reasons(report, 120), summary = accept_summary(report);
  for (const char* text : {"achine: one device too many", "o time in the budget: links, training",
                           "ot known: the library is missing", "ot tried: memory patterns"}) {
    EXPECT_THAT(console, HasSubstr(text));
    EXPECT_THAT(summary, HasSubstr(text));
  }
}

TEST(AcceptTable, ReasonsListGapsAndNextCommand) {
  json document = one_failed_of_four();
  document["devices"][1] = accept_device_json(1, "incomplete");
  document["devices"][3]["steps"][1] = accept_step_json("copy", "partly", "copy: 1 of 2 tiles");
  EXPECT_EQ(
      accept_reasons(report_of(document), 120),
      "cuda-sim:1  incomplete  Simulated GPU A40G  0000:01:00.0  GPU-17d38ec8-1e3d-b106-c12f-20bd9faad9f6\n"
      "  gap     copy: 1 case was not run\n"
      "  next    proctor accept --devices cuda-sim:1 --level 2\n"
      "\n"
      "cuda-sim:2  failed  Simulated GPU A40G  0000:02:00.0  GPU-27d38ec8-1e3d-b106-c12f-20bd9faad9f6\n"
      "  reason  a copy has a wrong byte\n"
      "  action  replace\n"
      "  next    proctor accept --devices cuda-sim:2 --level 2\n"
      "\n"
      "not proven: copy: 1 of 2 tiles (cuda-sim:3)\n"
      "not tried: memory patterns (level 3), the fabric between machines\n");
}

TEST(AcceptTable, DevicesWithEqualReasonShareParagraph) {
  json first = accept_device_json(0, "incomplete"), second = accept_device_json(1, "incomplete");
  for (json* device : {&first, &second}) (*device)["next"] = "proctor accept --level 1";
  const std::string text =
      accept_reasons(report_of(accept_report_json("incomplete", 130, {first, second})), 120);
  EXPECT_EQ(text.find("gap "), text.rfind("gap ")) << text;
  EXPECT_THAT(text, HasSubstr("GPU-17d38ec8"));
}

TEST(AcceptReport, CountsTheCasesThatADeviceThatFailedDidNotGet) {
  json document = one_failed_of_four();
  document["devices"][2]["gaps"] = {"driver: 17 cases", "copy: 14 cases"};
  document["devices"][2]["steps"][0]["not_run"] = 17;
  document["devices"][2]["steps"][1]["not_run"] = 14;
  EXPECT_THAT(report_of(document).devices[2].gaps, ElementsAre("31 cases were not run on cuda-sim:2"));
}

TEST(AcceptReport, ListsOnlyChangedFacts) {
  json document = one_failed_of_four();
  document["devices"][2]["facts"]["after"]["replays"] = 7;
  const AcceptReport report = report_of(document);
  EXPECT_THAT(changed_facts(report.devices[0]), IsEmpty());
  const auto changed = changed_facts(report.devices[2]);
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0].name + " " + changed[0].before + " " + changed[0].after, "replays 0 7");
}

TEST(AcceptReport, RejectsInvalidDocuments) {
  for (const char* text :
       {"", "[]", "{}", R"({"verdict": "passed"})", R"({"verdict": 1, "devices": []})",
        R"({"verdict": "passed", "devices": [{"id": "a"}]})", R"({"verdict": "passed", "devices": [1]})"})
    EXPECT_FALSE(parse_accept_report(text)) << text;
  const auto odd = parse_accept_report(
      R"({"verdict": "passed", "level": "x", "exit_code": 1e300, "devices": [{"id": "a", "verdict": "passed", "steps": [1, {}], "figures": {}, "facts": {"before": []}}]})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->exit_code, 255);
  EXPECT_FALSE(accept_step_table(*odd, 80).empty());
}

TEST(AcceptReport, WarnsAboutFileOfAnotherRun) {
  const TempDir directory;
  const ResolvedRun run = resolved_of({plan_of({planned("s/a")})});
  const auto found_with = [&](const std::string& text) {
    EXPECT_TRUE(replace_file((directory / "accept.json").string(), text));
    return find_accept_report(directory.path(), run);
  };
  const auto none = find_accept_report(directory.path(), run);
  EXPECT_FALSE(none.report);
  EXPECT_EQ(none.warning, "");
  json document = one_failed_of_four();
  document["run_id"] = run.plan.run_id;
  EXPECT_TRUE(found_with(document.dump()).report);
  document["run_id"] = "another";
  EXPECT_EQ(found_with(document.dump()).warning, "accept.json is ignored: another run wrote it");
  EXPECT_EQ(found_with("{").warning, "accept.json is ignored: it is not a JSON object");
}

TEST(AcceptSummary, BeginsWithVerdictAndHasTable) {
  const std::string text = accept_summary(report_of(one_failed_of_four()));
  EXPECT_THAT(text,
              ::testing::StartsWith("# Proctor: FAILED: 1 of 4 GPUs: replace cuda-sim:2 (exit code 1)\n"));
  EXPECT_THAT(text, HasSubstr("Started as `proctor accept --level 1 --sim cuda:4`\n"));
  EXPECT_THAT(text, HasSubstr("| device | model | driver | copy | verdict | action |\n"));
  EXPECT_THAT(text, HasSubstr("| cuda-sim:2 | Simulated GPU A40G | ✓ | ✗ | **failed** | replace |\n"));
  EXPECT_THAT(text, HasSubstr("Next: `proctor accept --devices cuda-sim:2 --level 2`\n"));
}

TEST(AcceptSummary, EscapesHostileText) {
  json document = one_failed_of_four();
  document["devices"][2]["model"] = "a|b\n# <script>\x1b[31m";
  document["devices"][2]["next"] = "`x` | y\nz";
  const std::string text = accept_summary(report_of(document));
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
  EXPECT_THAT(text, Not(HasSubstr("\n# <")));
  EXPECT_THAT(text, HasSubstr("| a\\|b \\# \\<script\\>"));
  EXPECT_THAT(accept_step_table(report_of(document), 120), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace proctor
