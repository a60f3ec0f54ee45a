#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/base/temp_dir.h"
#include "reports/formats/text_output.h"
#include "reports/page/page.h"
#include "reports/page/panel_files.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kGood = "memory.xpu/Copy.All/Small";
constexpr const char* kBad = "memory.xpu/Copy.All/Large";
constexpr std::string_view kEvil = "</td><script>alert(1)</script><!-- \" ' & \xe2\x80\xae";

json gate_file() {
  const json held = {{"rule", "executed"}, {"verdict", "passed"},      {"limit", "100 %"},
                     {"value", "100 %"},   {"reasons", json::array()}, {"cases", json::array()}};
  const json red = {
      {"rule", "failures"}, {"verdict", "failed"},           {"limit", "0 cases"},
      {"value", "2 cases"}, {"reasons", {"2 cases failed"}}, {"cases", {kBad, "memory.xpu/Copy.Elsewhere"}}};
  return {{"schema_version", 1},
          {"verdict", "failed"},
          {"evaluated_at", "2026-01-31T12:00:00Z"},
          {"policy",
           {{"file", "gate.toml"},
            {"sha256", std::string(64, 'a')},
            {"relaxations", {{{"line", 3}, {"key", "hardware"}, {"value", "false"}, {"strict", "true"}}}}}},
          {"runs", {{{"name", "nightly"}, {"journal_sha256", "this one"}}}},
          {"rules", {held}},
          {"cells",
           {{{"name", "memory.xpu"},
             {"verdict", "failed"},
             {"planned", 2},
             {"executed", 1},
             {"runs", {"nightly"}},
             {"rules", {held, red}}}}}};
}

json coverage_file() {
  const json check = {{"id", "memory.xpu/Copy.All"}, {"faults", {"copy.skip", "copy.wrong:at=1"}}};
  const json other = {{"id", "memory.xpu/Copy.Other"}, {"faults", json::array()}};
  return {{"schema_version", 1},
          {"rules",
           {{{"id", "M-1"}, {"sources", {"the specification"}}, {"checks", {check}}},
            {{"id", "M-2"}, {"sources", json::array()}, {"checks", {other}}},
            {{"id", "M-3"}, {"sources", json::array()}, {"checks", json::array()}}}},
          {"faults",
           {{{"name", "copy.skip"}, {"checks", {"memory.xpu/Copy.All"}}},
            {{"name", "copy.late"}, {"checks", json::array()}}}},
          {"functions",
           {{{"name", "zeInit"}, {"backend", "xpu"}, {"called_by", {"memory.xpu/A.B"}}, {"reason", ""}},
            {{"name", "zeForgotten"},
             {"backend", "xpu"},
             {"called_by", json::array()},
             {"reason", "it is old"}}}}};
}

// Two cases of one check, one of which fails.
ResolvedRun a_run() {
  std::vector<Event> events = {plan_of({planned(kGood), planned(kBad)})};
  for (const auto& [id, outcome] : {std::pair(kGood, Outcome::kPass), std::pair(kBad, Outcome::kFail)}) {
    events.emplace_back(started(id));
    events.emplace_back(ended(id, {outcome, ""}));
    events.emplace_back(concluded(id, {outcome, ""}));
  }
  events.emplace_back(RunEnded{"2026-01-31T12:00:05Z", 5000});
  return resolved_of(events);
}

std::string page_with(const PageGate* gate, const PageCoverage* coverage) {
  const ResolvedRun run = a_run();
  PageRequest request{
      .runs = {{.resolved = run, .journal_sha256 = "this one"}}, .gate = gate, .coverage = coverage};
  return text_of([&](TextOutput& output) { write_page(request, output); });
}

std::string page_with_gate(const json& file) {
  const auto gate = parse_page_gate(file.dump(), "gate.json");
  EXPECT_TRUE(gate) << gate.error().what;
  return gate ? page_with(&*gate, nullptr) : "";
}

std::string page_with_coverage(const json& file) {
  const auto coverage = parse_page_coverage(file.dump(), "coverage.json");
  EXPECT_TRUE(coverage) << coverage.error().what;
  return coverage ? page_with(nullptr, &*coverage) : "";
}

std::string panel(const std::string& page, const std::string& id) {
  const std::size_t begin = page.find("<section id=\"" + id + "\"");
  return begin == std::string::npos ? "" : page.substr(begin, page.find("</section>", begin) - begin);
}

TEST(PagePanels, OmitsPanelsWithoutFiles) {
  const std::string page = page_with(nullptr, nullptr);
  EXPECT_EQ(panel(page, "gate"), "");
  EXPECT_EQ(panel(page, "coverage"), "");
}

TEST(PagePanels, GatePanelListsFailedRules) {
  const std::string gate = panel(page_with_gate(gate_file()), "gate");
  EXPECT_THAT(gate, HasSubstr("aria-hidden=\"true\">✗</span> failed</span> by the policy"));
  EXPECT_THAT(gate, HasSubstr("gate.toml</span> <code>aaaaaaaaaaaa</code>, at 2026-01-31 12:00:00 UTC"));
  EXPECT_THAT(
      gate,
      HasSubstr(
          "failures</span> <span class=\"id\">memory.xpu</span>: 2 cases <small>allowed: 0 cases</small>"));
  EXPECT_THAT(gate, HasSubstr("<p class=\"who\">2 cases failed</p>"));
  const std::string red = gate.substr(0, gate.find("Every rule in every cell"));
  EXPECT_THAT(red, Not(HasSubstr("100 %"))) << "a rule that holds is none of those that fail";
  EXPECT_THAT(gate, HasSubstr("line 3: <code>hardware = false</code> <small>else true</small>"));
}

TEST(PagePanels, GateVerdictIsPageTitle) {
  const std::string page = page_with_gate(gate_file());
  EXPECT_THAT(page, HasSubstr("<title>Gate failed: 1 of 1 cell · Proctor</title>"));
  EXPECT_THAT(page, HasSubstr("✗</span> Gate failed: 1 of 1 cell</h1>"));
  EXPECT_THAT(page, HasSubstr("</span> failures</span> memory.xpu: 2 cases failed</p>"));
  EXPECT_THAT(page, HasSubstr("Failed: 1 of 2 cases. Exit code")) << "and that of the run";
  json green = gate_file();
  green["verdict"] = green["cells"][0]["verdict"] = "passed";
  green["cells"][0]["rules"].erase(1);
  EXPECT_THAT(page_with_gate(green), HasSubstr("✓</span> Gate passed: 1 of 1 cell</h1>"));
  json other = gate_file();
  other["runs"][0]["journal_sha256"] = "another one";
  EXPECT_THAT(page_with_gate(other), Not(HasSubstr("eleasable"))) << "it says nothing of the run";
}

TEST(PagePanels, GatePanelShowsRulesPerCell) {
  const std::string gate = panel(page_with_gate(gate_file()), "gate");
  const std::string matrix = gate.substr(gate.find("Every rule in every cell"));
  EXPECT_THAT(matrix, HasSubstr("data-label=\"memory.xpu\"><span class=\"badge passed\">"));
  EXPECT_THAT(matrix, HasSubstr("holds</span> <small>100 %</small>"));
  EXPECT_THAT(matrix, HasSubstr("fails</span> <small>2 cases</small>"));
}

TEST(PagePanels, GatePanelSuggestsPolicyChange) {
  json file = gate_file();
  json& rule = file["cells"][0]["rules"][1];
  const auto said = [&](const char* name, const char* value, const char* why) {
    rule["rule"] = name;
    rule["value"] = value;
    rule["reasons"] = {why};
    return panel(page_with_gate(file), "gate");
  };
  EXPECT_THAT(said("executed", "7 of 9", "x"), HasSubstr("<code>[[cell]] min_executed = 7</code>"));
  EXPECT_THAT(said("skips", "2 skips", "2 cases skipped for a reason that the policy does not have: needs:x"),
              HasSubstr("<code>[skips] &quot;needs:x&quot; = &quot;WHY&quot;</code>"));
  EXPECT_THAT(said("flaky", "1 of 9, 11.111 %", "x"),
              HasSubstr("<code>[gate.flaky] percent = 11.111</code>"));
}

TEST(PagePanels, ListedFailedCasesAreLinks) {
  const std::string gate = panel(page_with_gate(gate_file()), "gate");
  EXPECT_THAT(gate, HasSubstr("href=\"#case=memory.xpu/Copy.All/Large\""));
  EXPECT_THAT(gate, HasSubstr("<span class=\"id\">memory.xpu/Copy.Elsewhere</span>"));
}

TEST(PagePanels, GatePanelMarksVerdictOfOtherRuns) {
  EXPECT_THAT(panel(page_with_gate(gate_file()), "gate"), Not(HasSubstr("It is")));
  json file = gate_file();
  file["runs"][0]["journal_sha256"] = "another one";
  const std::string gate = panel(page_with_gate(file), "gate");
  EXPECT_THAT(gate, HasSubstr("<strong>It is not of the run</strong> on this page."));
  EXPECT_THAT(gate, HasSubstr("It is of 1 run that is not on this page too."));
}

TEST(PagePanels, CoverageMarksRuleWithFailingCase) {
  const std::string coverage = panel(page_with_coverage(coverage_file()), "coverage");
  const std::string before_all = coverage.substr(0, coverage.find("The other rules"));
  EXPECT_THAT(before_all, HasSubstr("M-1 <small>the specification</small>"));
  EXPECT_THAT(before_all, HasSubstr("✗</span> failed</span><div class=\"ids\"><a class=\"id\" "
                                    "href=\"#case=memory.xpu/Copy.All/Large\">"));
  EXPECT_THAT(before_all, HasSubstr("<summary>1 check</summary>"));
  EXPECT_THAT(before_all, HasSubstr("<small>copy.skip; copy.wrong:at=1</small>"));
  EXPECT_THAT(before_all, HasSubstr("2 not in this run"));
  EXPECT_THAT(before_all, Not(HasSubstr("M-2")));
}

TEST(PagePanels, CoverageListsUncheckedRulesAndFunctions) {
  const std::string coverage = panel(page_with_coverage(coverage_file()), "coverage");
  EXPECT_THAT(coverage, HasSubstr("<summary>1 of 3 rules have no check</summary>"));
  EXPECT_THAT(coverage, HasSubstr("<summary>1 of 2 faults of the simulator have no check</summary>"));
  EXPECT_THAT(coverage, HasSubstr("<summary>1 of 2 functions of Level Zero are called by no check"));
  EXPECT_THAT(coverage, HasSubstr("it is old:</p>"));
  EXPECT_THAT(coverage, HasSubstr("zeForgotten"));
  EXPECT_THAT(coverage, Not(HasSubstr("zeInit")));
}

// Replaces each text below the value by a hostile one, except texts that the reader compares.
void poison(json& value) {
  if (value.is_string() && value != "failed" && value != "passed") value = kEvil;
  if (!value.is_structured()) return;
  for (json& inner : value) poison(inner);
}

TEST(PagePanels, EscapesTextOfFiles) {
  json gate = gate_file();
  json coverage = coverage_file();
  poison(gate);
  poison(coverage);
  for (const std::string& page :
       {panel(page_with_gate(gate), "gate"), panel(page_with_coverage(coverage), "coverage")}) {
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, Not(HasSubstr("<!--")));
    EXPECT_THAT(page, Not(HasSubstr("\xe2\x80\xae")));
  }
}

TEST(PagePanels, TruncatesLongListsWithCount) {
  json gate = gate_file();
  json coverage = coverage_file();
  json& red = gate["cells"][0]["rules"][1];
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = std::to_string(i) + std::string(300, 'x');
    red["cases"].push_back(name);
    gate["rules"].push_back(gate_file()["cells"][0]["rules"][1]);
    coverage["rules"].push_back(coverage["rules"][0]);
    coverage["functions"].push_back(
        {{"name", name}, {"backend", "cuda"}, {"called_by", json::array()}, {"reason", ""}});
  }
  const std::string of_gate = panel(page_with_gate(gate), "gate");
  EXPECT_LT(of_gate.size(), 700'000U);
  EXPECT_THAT(of_gate, HasSubstr(" more.</p>"));
  const std::string of_coverage = panel(page_with_coverage(coverage), "coverage");
  EXPECT_LT(of_coverage.size(), 1'500'000U);
  EXPECT_THAT(of_coverage, HasSubstr("and 19,000 more"));
}

template <typename Parse>
void expect_needed(json file, const json::json_pointer& place, Parse parse) {
  file[place] = nullptr;
  EXPECT_FALSE(parse(file.dump(), "x.json")) << place.to_string();
  file[place.parent_pointer()].erase(place.back());
  const auto read = parse(file.dump(), "x.json");
  ASSERT_FALSE(read) << place.to_string();
  EXPECT_EQ(read.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(read.error().what, testing::StartsWith("read x.json: it is not a "));
  EXPECT_THAT(read.error().what, HasSubstr(place.back() + " is missing"));
}

// Removes each member in turn, including nested members, and expects an error.
template <typename Parse>
void expect_each_needed(const json& file, const json::json_pointer& at, Parse parse) {
  for (const auto& [key, inner] : file[at].items()) {
    if (key == "name" && at.to_string() == "/runs/0") continue;  // the page does not show this member
    const json::json_pointer place = at / key;
    if (file[at].is_object()) expect_needed(file, place, parse);
    if (inner.is_structured()) expect_each_needed(file, place, parse);
  }
}

TEST(PanelFiles, RequireEachKey) {
  expect_each_needed(gate_file(), json::json_pointer(), parse_page_gate);
  expect_each_needed(coverage_file(), json::json_pointer(), parse_page_coverage);
}

TEST(PanelFiles, IgnoreUnknownKeys) {
  json gate = gate_file();
  gate["new"] = gate["cells"][0]["new"] = {1, 2};
  EXPECT_TRUE(parse_page_gate(gate.dump(), "x"));
}

TEST(PanelFiles, ErrorNamesInvalidFile) {
  json newer = gate_file();
  newer["schema_version"] = 2;
  json lying = gate_file();
  lying["verdict"] = "passed";
  json lying_cell = gate_file();
  lying_cell["cells"][0]["verdict"] = "passed";
  json empty = gate_file();
  empty["cells"] = json::array();
  const std::string deep = std::string(1'000'000, '[');
  for (const auto& [text, said] : {std::pair<std::string, std::string>("", "not JSON"),
                                   {"{", "not JSON"},
                                   {"[]", "not an object"},
                                   {"null", "not an object"},
                                   {deep, "deep"},
                                   {newer.dump(), "schema_version 2"},
                                   {lying.dump(), "its verdict is not what its rules say"},
                                   {lying_cell.dump(), "the verdict of a cell"},
                                   {empty.dump(), "no cells"},
                                   {std::string(kMostPanelFileBytes + 1, ' '), "more than"},
                                   {coverage_file().dump(), "cells is missing"}}) {
    const auto read = parse_page_gate(text, "x.json");
    ASSERT_FALSE(read) << said;
    EXPECT_EQ(read.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(read.error().what, HasSubstr("read x.json: it is not a gate.json: "));
    EXPECT_THAT(read.error().what, HasSubstr(said));
  }
  EXPECT_THAT(parse_page_coverage(gate_file().dump(), "x").error().what,
              HasSubstr("not a list of what is covered"));
}

TEST(PanelFiles, RefuseIrregularFiles) {
  EXPECT_THAT(read_page_gate("/dev/zero").error().what,
              HasSubstr("/dev/zero is not a regular file or a pipe"));
  TempDir directory;
  const std::string path = directory.path().string();
  EXPECT_EQ(read_page_gate(path).error().kind, ErrorKind::kUsage);
  EXPECT_THAT(read_page_gate(path + "/none").error().what, HasSubstr("No such file"));
  write_file(directory.path() / "gate.json", gate_file().dump());
  EXPECT_TRUE(read_page_gate(path + "/gate.json"));
}

}  // namespace
}  // namespace proctor
