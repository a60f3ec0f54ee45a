// Tests the first screen of a page: the causes, their locations and devices, whether they are new, and the commands
// that rerun them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/formats/text_output.h"
#include "reports/page/page.h"
#include "reports/page/page_text.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

struct Reported {
  std::string id{};
  std::string message{};
  std::string file{};
  int line = 0;
  std::string device = "xpu-sim:0";
  std::string expected{};
  std::string got{};
};

RunPlanned plan_on_github(const std::vector<Reported>& cases) {
  std::vector<PlannedCase> all;
  for (const Reported& one : cases) all.push_back(planned(one.id));
  RunPlanned plan = plan_of(std::move(all));
  plan.subject.commit.value = kCommit;
  plan.subject.repository.value = "https://github.com/acme/kernels.git";
  return plan;
}

// Returns the events of a run in which each case fails with its message.
std::vector<Event> failing_cases(const std::vector<Reported>& cases) {
  std::vector<Event> events = {plan_on_github(cases)};
  for (const Reported& one : cases) {
    AttemptStarted start = started(one.id);
    start.devices = {one.device};
    events.emplace_back(start);
    AttemptEnded end = ended(one.id, {Outcome::kFail, ""});
    end.failures = {{"", one.message, one.file, one.line, one.expected, one.got, ""}};
    events.emplace_back(end);
    events.emplace_back(concluded(one.id, {Outcome::kFail, ""}));
  }
  return events;
}

std::string html_of(const PageRequest& request) {
  return text_of([&](TextOutput& output) { write_page(request, output); });
}

std::string html_of(const std::vector<Event>& events) {
  const ResolvedRun model = resolved_of(events);
  return html_of(PageRequest{.runs = {{.resolved = model, .link = ""}}});
}

std::string section_of(const std::string& html, const std::string& id) {
  const std::size_t begin = html.find("<section id=\"" + id + "\"");
  return begin == std::string::npos ? "" : html.substr(begin, html.find("</section>", begin) - begin);
}

std::string header_of(const std::string& html) {
  const std::size_t begin = html.find("<header");
  return html.substr(begin, html.find("</header>") - begin);
}

TEST(PageCauses, PrecedeCasesWithSourceAndRerun) {
  const std::string html =
      html_of(failing_cases({{"m.xpu/a", "the sum\n  is <wrong>", "src/sum.cc", 26, "xpu-sim:1", "1", "2"}}));
  EXPECT_LT(html.find("<section id=\"causes\""), html.find("<section id=\"cases\""));
  const std::string causes = section_of(html, "causes");
  EXPECT_THAT(causes,
              HasSubstr(fmt::format(
                  "<a href=\"https://github.com/acme/kernels/blob/{}/src/sum.cc#L26\"><code>src/sum.cc:26",
                  kCommit)));
  EXPECT_THAT(causes, HasSubstr("on <span class=\"id\">xpu-sim:1</span>"));
  EXPECT_THAT(causes, HasSubstr("<pre class=\"said\">the sum\n  is &lt;wrong&gt;</pre>"));
  EXPECT_THAT(causes, HasSubstr("Expected <code>1</code>, got <code>2</code>"));
  EXPECT_THAT(causes, HasSubstr("data-copy><pre class=\"command\">proctor run memory"));
  EXPECT_THAT(causes, HasSubstr("--case m.xpu/a"));
  EXPECT_THAT(causes, HasSubstr("<a href=\"logs/0123456789abcdef.1.log\">log</a>"));
}

TEST(PageCauses, NewCausesPrecedeOldCauses) {
  std::vector<Event> events = failing_cases({{"m.xpu/a", "old", "old.cc", 1},
                                             {"m.xpu/b", "old", "old.cc", 1},
                                             {"m.xpu/c", "fresh", "fresh.cc", 2}});
  events.emplace_back(CasePast{.case_id = "m.xpu/a", .runs = 3, .failing_runs = 2, .since = "aaaa"});
  events.emplace_back(CasePast{.case_id = "m.xpu/b", .runs = 3, .failing_runs = 2, .since = "aaaa"});
  events.emplace_back(CasePast{.case_id = "m.xpu/c", .runs = 3, .passed = "bbbb"});
  const std::string causes = section_of(html_of(events), "causes");
  EXPECT_THAT(causes, HasSubstr("</span> NEW: passed in bbbb</span>"));
  EXPECT_LT(causes.find("fresh.cc:2"), causes.find("old.cc:1"));
  EXPECT_EQ(causes.find("NEW"), causes.rfind("NEW"));
  EXPECT_THAT(causes, HasSubstr("first failed in aaaa (3 runs)"));
}

// A case that was not started has the reason of the stop, not a cause. The console does
// not count a cause for it either.
TEST(PageCauses, OmitCasesThatWereNotStarted) {
  std::vector<Event> events = failing_cases({{"m.xpu/a", "x", "x.cc", 1}, {"m.xpu/b", "y", "y.cc", 1}});
  std::get<RunPlanned>(events.front()).cases.push_back(planned("m.xpu/not-started"));
  events.emplace_back(StopRequested{2, StopCause::kSignal, 5});
  const std::string html = html_of(events);
  EXPECT_THAT(html, HasSubstr("<a href=\"#causes\">Causes <strong>2</strong></a>"));
  EXPECT_EQ(resolved_of(events).causes.size(), 2U);
  EXPECT_THAT(section_of(html, "causes"), Not(HasSubstr("not-started")));
}

TEST(PageCauses, ComparisonMarksNewCauses) {
  const auto events = failing_cases({{"m.xpu/a", "x", "x.cc", 1}});
  std::vector<Event> passing = {events.front(), started("m.xpu/a"), ended("m.xpu/a", {Outcome::kPass, ""}),
                                concluded("m.xpu/a", {Outcome::kPass, ""})};
  std::get<RunPlanned>(passing.front()).subject.commit.value = std::string(40, 'f');
  const ResolvedRun before = resolved_of(passing);
  const ResolvedRun after = resolved_of(events);
  const RunResults old = results_of(before);
  const RunResults now = results_of(after);
  const Comparison comparison = compare(old, now);
  const std::string html =
      html_of(PageRequest{.runs = {{.resolved = after, .changes = PageChanges{old, comparison}}}});
  EXPECT_THAT(section_of(html, "causes"), HasSubstr("NEW: passed in ffffffffffff"));
  EXPECT_THAT(section_of(html, "changes"), HasSubstr("ffffffffffff → 0123456789ab"));
  EXPECT_THAT(section_of(html, "changes"),
              HasSubstr(fmt::format("/compare/{}...{}", std::string(40, 'f'), kCommit)));
}

TEST(PageCauses, TruncateLongMessages) {
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += fmt::format("line {}\n", i);
  const std::string causes = section_of(
      html_of(
          failing_cases({{"m.xpu/a", many, "a.cc", 1}, {"m.xpu/b", std::string(1 << 20, 'x'), "b.cc", 1}})),
      "causes");
  EXPECT_THAT(causes, HasSubstr("line 11\n...</pre>"));
  EXPECT_LT(causes.size(), 8'000U);
}

TEST(PageCauses, GreenRunHasNoProblemSections) {
  const std::string html =
      html_of({plan_on_github({{"m.xpu/a"}}), started("m.xpu/a"), ended("m.xpu/a", {Outcome::kPass, ""}),
               concluded("m.xpu/a", {Outcome::kPass, ""})});
  for (const char* id : {"causes", "owner", "changes", "known", "warnings"})
    EXPECT_EQ(section_of(html, id), "") << id;
  EXPECT_THAT(html, Not(HasSubstr("href=\"#causes\"")));
}

// Failures on xpu-sim:0 and passes on xpu-sim:1.
std::vector<Event> two_devices(int failures, int passes) {
  std::vector<Reported> cases;
  for (int i = 0; i < failures; ++i) cases.push_back({fmt::format("m.xpu/{}", i), "x", "x.cc", i});
  std::vector<Event> events = failing_cases(cases);
  RunPlanned plan = std::get<RunPlanned>(events.front());
  plan.devices = {{"xpu-sim:0", "xpu", "Card", true}, {"xpu-sim:1", "xpu", "Card", true}};
  plan.command_line = {"proctor", "run", "--out", "my run"};
  for (int i = 0; i < passes; ++i) {
    const std::string id = fmt::format("m.xpu/good{}", i);
    plan.cases.push_back(planned(id));
    AttemptStarted start = started(id);
    start.devices = {"xpu-sim:1"};
    events.emplace_back(start);
    events.emplace_back(ended(id, {Outcome::kPass, ""}));
    events.emplace_back(concluded(id, {Outcome::kPass, ""}));
  }
  events.front() = plan;
  return events;
}

TEST(PageVerdict, NamesDeviceOfAllFailures) {
  const std::string html = html_of(two_devices(2, 1));
  const std::string header = header_of(html);
  EXPECT_THAT(header, HasSubstr("All 2 failures ran only on xpu-sim:0.</strong> Code or device?"));
  EXPECT_THAT(header, HasSubstr("proctor rerun &#39;my run&#39; --failed --each-device --repeat 5"));
  EXPECT_THAT(header, Not(HasSubstr("another machine")));
  EXPECT_THAT(section_of(html, "devices"), HasSubstr("all failures</span>"));
}

TEST(PageVerdict, MarksDeviceWithHigherFailureRate) {
  const std::string devices = section_of(html_of(two_devices(8, 20)), "devices");
  EXPECT_THAT(devices, HasSubstr("fails more often</span>"));
  EXPECT_THAT(devices, HasSubstr("8 of 8 attempts failed on xpu-sim:0, 0 of 20 elsewhere"));
}

std::vector<Event> flaky_case() {
  const std::string id = "m.xpu/flaky";
  AttemptEnded bad = ended(id, {Outcome::kFail, ""});
  bad.failures = {{"", "once", "f.cc", 3, "", "", ""}};
  return {plan_on_github({{id}}),
          started(id),
          bad,
          started(id, 2),
          ended(id, {Outcome::kPass, ""}, 2),
          concluded(id, {Outcome::kPass, ""}, {Mark::kFlaky}),
          CasePast{.case_id = id, .runs = 3, .flaky_runs = 2, .passed = "aaaa"}};
}

TEST(PageVerdict, ShowsFlakyCasesSeparately) {
  const std::string html = html_of(flaky_case());
  EXPECT_THAT(html, HasSubstr("Failed: 1 of 1 case flaky</h1>"));
  EXPECT_THAT(header_of(html), HasSubstr("href=\"#look=flaky\"><span class=\"badge flaky\">"));
  const std::string causes = section_of(html, "causes");
  EXPECT_THAT(causes, HasSubstr("<span class=\"badge flaky\">"));
  EXPECT_THAT(causes, HasSubstr("flaky in 2 of 3 earlier runs"));
  std::vector<Event> allowed = flaky_case();
  std::get<RunPlanned>(allowed.front()).flaky_passes = true;
  std::get<RunPlanned>(allowed.front()).max_flaky_percent = 100;
  allowed.emplace_back(RunEnded{"2026-01-31T12:00:05Z", 5000});
  EXPECT_THAT(html_of(allowed), HasSubstr("Passed: 1 of 1 case, 1 flaky</h1>"));
}

TEST(PageDevices, ShowConclusionPerCase) {
  RunPlanned plan = plan_on_github({{"m.xpu/a"}});
  plan.rules.each_device = true;
  plan.devices = {{"xpu-sim:0", "xpu", "Card", true}, {"xpu-sim:1", "xpu", "Card", true}};
  std::vector<Event> events = {plan};
  for (int i = 1; i <= 16; ++i) {
    AttemptStarted start = started("m.xpu/a", 1, i);
    start.devices = {i % 2 == 0 ? "xpu-sim:0" : "xpu-sim:1"};
    events.emplace_back(start);
    events.emplace_back(ended("m.xpu/a", {i % 2 == 0 ? Outcome::kFail : Outcome::kPass, ""}, 1, i));
  }
  const std::string devices = section_of(html_of(events), "devices");
  EXPECT_THAT(devices, HasSubstr("Cases that failed, on each device"));
  EXPECT_THAT(devices, HasSubstr("xpu-sim:0: it fails there more often than chance explains"));
  EXPECT_THAT(devices, HasSubstr("xpu-sim:0: 8 of 8, xpu-sim:1: 0 of 8"));
}

// The case failed on cuda-sim:1, whose health probe then failed, and passed on cuda-sim:0.
std::vector<Event> moved_case() {
  RunPlanned plan = plan_of({planned("m.cuda/a")});
  plan.devices = {{"cuda-sim:0", "cuda", "Simulated A40G", true},
                  {"cuda-sim:1", "cuda", "Simulated A40G", true}};
  std::vector<Event> events = {plan};
  const auto attempt = [&](int number, const std::string& device, Outcome outcome) {
    AttemptStarted start = started("m.cuda/a", number);
    start.devices = {device};
    events.insert(events.end(), {start, ended("m.cuda/a", {outcome, ""}, number)});
  };
  attempt(1, "cuda-sim:1", Outcome::kFail);
  events.insert(events.end(), {AttemptSuspected{"m.cuda/a", 1, 1, "cuda-sim:1", "word 4"},
                               DeviceHealth{.device = "cuda-sim:1",
                                            .what = HealthFact::kProbeFailed,
                                            .case_id = "m.cuda/a",
                                            .evidence = "word 4"}});
  attempt(2, "cuda-sim:0", Outcome::kPass);
  events.insert(events.end(),
                {concluded("m.cuda/a", {Outcome::kPass, ""}, {Mark::kDeviceSuspect}), RunEnded{"x", 1}});
  return events;
}

TEST(PageVerdict, UnhealthyDeviceIsTitle) {
  const std::string html = html_of(moved_case());
  const std::string header = header_of(html);
  EXPECT_THAT(header, HasSubstr("</span> Machine failed: GPU cuda-sim:1 is unhealthy: its health probe "
                                "failed after m.cuda/a. The code "
                                "passed on cuda-sim:0</h1>"));
  EXPECT_THAT(header, HasSubstr("1 of 1 case passed. Exit code <strong>75</strong>"));
  EXPECT_THAT(header, HasSubstr("<pre class=\"command\">proctor accept --devices cuda-sim:1</pre>"));
  EXPECT_THAT(html, Not(HasSubstr("not good")));
  EXPECT_THAT(html, HasSubstr("<title>Machine failed: GPU cuda-sim:1 is unhealthy"));
  const std::string causes = section_of(html, "causes");
  EXPECT_THAT(causes, HasSubstr("</span> moved</span>"));
  EXPECT_THAT(causes, HasSubstr("on <span class=\"id\">cuda-sim:1 → cuda-sim:0</span>"));
}

RunPlanned plan_of_repository(const std::string& repository, const std::string& commit = kCommit) {
  RunPlanned plan;
  plan.directory = "/home/me/kernels/build";
  plan.subject.checkout = "/home/me/kernels";
  plan.subject.repository.value = repository;
  plan.subject.commit.value = commit;
  return plan;
}

TEST(PageSource, LinksOnlyToGithubAndGitlab) {
  const std::string at = fmt::format("blob/{}/src/a%20b.cc#L3", kCommit);
  const auto address = [](const std::string& repository) {
    return source_address(plan_of_repository(repository), "../src/a b.cc", 3);
  };
  EXPECT_EQ(address("https://github.com/a/b.git"), "https://github.com/a/b/" + at);
  EXPECT_EQ(address("http://gitlab.acme.example/a/b/c/"), "http://gitlab.acme.example/a/b/c/-/" + at);
  for (const char* other : {"", "javascript:alert(1)//github.com/a/b", "git@github.com:a/b.git",
                            "ssh://github.com/a/b", "https://me:secret@github.com/a/b", "https://github.com",
                            "https://github.com/a", "https://example.com/a/b", "https://github.com/a/b?x",
                            "https://github.com/a/../b", "https://github.com/a/\"b", "file:///github/a/b"})
    EXPECT_EQ(address(other), "") << other;
}

TEST(PageSource, LinksOnlyFilesInCheckout) {
  const RunPlanned plan = plan_of_repository("https://github.com/a/b");
  EXPECT_THAT(source_address(plan, "/home/me/kernels/x.cc", 0), testing::EndsWith("/x.cc"));
  EXPECT_EQ(source_address(plan, "/usr/include/vector", 3), "");
  EXPECT_EQ(source_address(plan, "", 3), "");
  EXPECT_EQ(source_address(plan_of_repository("https://github.com/a/b", "main"), "x.cc", 3), "");
  EXPECT_EQ(commit_address(plan.subject), fmt::format("https://github.com/a/b/commit/{}", kCommit));
}

}  // namespace
}  // namespace proctor
