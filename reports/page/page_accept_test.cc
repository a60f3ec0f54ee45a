// Tests the page of `proctor accept`: the acceptance comes first, and the cases are folded below it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/accept/test_report.h"
#include "reports/formats/text_output.h"
#include "reports/page/page.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::string page_of(const json& document, const std::string& warning = "") {
  AttemptStarted start = started("memory.cuda/Copy.DestinationHasSourceBytes");
  start.devices = {"cuda-sim:2"};
  const ResolvedRun run =
      resolved_of({plan_of({planned("memory.cuda/Copy.DestinationHasSourceBytes")}), start,
                   ended("memory.cuda/Copy.DestinationHasSourceBytes", {Outcome::kFail, ""})});
  PageRequest request{.runs = {{.resolved = run, .link = ""}}};
  if (!document.is_null()) {
    auto report = parse_accept_report(document.dump());
    EXPECT_TRUE(report);
    request.runs.front().accept.report = *std::move(report);
  }
  request.runs.front().accept.warning = warning;
  return text_of([&](TextOutput& output) { write_page(request, output); });
}

std::string part_of(const std::string& html, const std::string& begin, const std::string& end) {
  const std::size_t at = html.find(begin);
  return at == std::string::npos ? "" : html.substr(at, html.find(end, at) - at);
}

TEST(PageAccept, HeaderHasVerdictExitCodeAndCommand) {
  const std::string html = page_of(one_failed_of_four());
  const std::string header = part_of(html, "<header", "</header>");
  EXPECT_THAT(html, HasSubstr("<title>Failed: 1 of 4 GPUs: replace cuda-sim:2 · Proctor</title>"));
  EXPECT_THAT(header, HasSubstr("</span> Failed: 1 of 4 GPUs: replace cuda-sim:2</h1>"));
  EXPECT_THAT(header, HasSubstr("Level 1. Exit code <strong>1</strong>."));
  EXPECT_THAT(header, HasSubstr("Started as <code>proctor accept --level 1 --sim cuda:4</code>"));
  EXPECT_THAT(html, HasSubstr("<dt>Started as</dt><dd><code>proctor accept --level 1 --sim cuda:4</code>"));
  EXPECT_THAT(header, Not(HasSubstr("another machine")));
  EXPECT_THAT(header, Not(HasSubstr("class=\"counts\"")));
}

TEST(PageAccept, PrecedesCollapsedCaseDetails) {
  const std::string html = page_of(one_failed_of_four());
  const std::size_t acceptance = html.find("<section id=\"acceptance\"");
  const std::size_t folded =
      html.find("<details class=\"folded\" id=\"details\"><summary>Details: 1 case</summary>");
  EXPECT_LT(acceptance, folded);
  EXPECT_LT(folded, html.find("<section id=\"causes\""));
  EXPECT_LT(html.find("<section id=\"where\""), html.rfind("</details>"));
  EXPECT_THAT(page_of(json()), Not(HasSubstr("class=\"folded\"")));
}

TEST(PageAccept, StepMarksHaveTextAndLinks) {
  const std::string section =
      part_of(page_of(one_failed_of_four()), "<section id=\"acceptance\"", "</section>");
  EXPECT_THAT(
      section,
      HasSubstr(
          "<td class=\"step passed\" data-label=\"driver\"><span class=\"sign\" aria-hidden=\"true\">✓</span>"
          "<span class=\"word\">proven</span></td>"));
  EXPECT_THAT(section, HasSubstr("<a href=\"#why-0-2\"><span class=\"sign\" "
                                 "aria-hidden=\"true\">✗</span><span class=\"word\">failed</span></a>"));
  EXPECT_THAT(section, HasSubstr("<li id=\"why-0-2\">"));
  EXPECT_THAT(section, HasSubstr("<small>Simulated GPU A40G · 0000:02:00.0 · GPU-27d38ec8</small></th>"));
  EXPECT_THAT(section, HasSubstr("a copy has a wrong byte · <a href=\"logs/a.log\">logs/a.log</a>"));
  EXPECT_THAT(section, HasSubstr("href=\"#case=memory.cuda/Copy.DestinationHasSourceBytes\">its case</a>"));
  EXPECT_THAT(section, HasSubstr("Action: <strong>replace</strong>"));
  EXPECT_THAT(
      section,
      HasSubstr("data-copy><pre class=\"command\">proctor accept --devices cuda-sim:2 --level 2</pre>"));
  EXPECT_THAT(section,
              HasSubstr("<li>Not tried: memory patterns (level 3), the fabric between machines</li>"));
}

TEST(PageAccept, BarsHaveTicksAndNumbers) {
  json document = one_failed_of_four();
  document["devices"][0]["figures"] = {
      {{"name", "x"}, {"unit", "GB/s"}, {"value", 100}, {"floor", 90}, {"best_of_model", 100}}};
  document["devices"][1]["figures"] = {{{"name", "x"},
                                        {"unit", "GB/s"},
                                        {"value", 50},
                                        {"floor", 90},
                                        {"best_of_model", 100},
                                        {"verdict", "low"}}};
  const std::string section = part_of(page_of(document), "<section id=\"acceptance\"", "</section>");
  EXPECT_THAT(section, HasSubstr("<rect class=\"failed\" width=\"50.0\" height=\"10\"/><line class=\"floor\" "
                                 "x1=\"90.0\" x2=\"90.0\""));
  EXPECT_THAT(section, HasSubstr("<span class=\"n\">50 <strong>too low</strong></span>"));
  EXPECT_THAT(
      section,
      HasSubstr("<td class=\"n\" data-label=\"Floor\">90</td><td class=\"n\" data-label=\"Best\">100</td>"));
}

TEST(PageAccept, ShowsOnlyChangedFacts) {
  json document = one_failed_of_four();
  EXPECT_THAT(page_of(document), Not(HasSubstr("Facts that the load changed")));
  document["devices"][2]["facts"]["after"]["replays"] = 7;
  const std::string section = part_of(page_of(document), "Facts that the load changed", "</table>");
  EXPECT_THAT(section, HasSubstr("<code>replays</code>"));
  EXPECT_THAT(section, HasSubstr("data-label=\"After\">7</td>"));
  EXPECT_THAT(section, Not(HasSubstr("ecc")));
}

TEST(PageAccept, EscapesHostileText) {
  json document = one_failed_of_four();
  document["devices"][2]["model"] = "<script>x</script>";
  document["devices"][2]["next"] = "proctor accept \"><img src=x>";
  document["devices"][2]["findings"][0]["evidence"] = "../../etc/passwd";
  document["devices"][2]["steps"][1]["gap"] = "\"><b>";
  const std::string section = part_of(page_of(document), "<section id=\"acceptance\"", "</section>");
  EXPECT_THAT(section, Not(HasSubstr("<script")));
  EXPECT_THAT(section, Not(HasSubstr("<img")));
  EXPECT_THAT(section, Not(HasSubstr("<b>")));
  EXPECT_THAT(section, Not(HasSubstr("passwd")));
}

TEST(PageAccept, WarnsAboutIgnoredFile) {
  const std::string header =
      part_of(page_of(json(), "accept.json is ignored: another run wrote it"), "<header", "</header>");
  EXPECT_THAT(header,
              HasSubstr("<strong>Warning:</strong> accept.json is ignored: another run wrote it.</p>"));
  EXPECT_THAT(header, HasSubstr("class=\"counts\""));
}

}  // namespace
}  // namespace proctor
