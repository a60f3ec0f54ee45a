#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/base/text.h"
#include "reports/formats/formats.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Summary, BeginsWithVerdictAndCauses) {
  RunPlanned plan = plan_of({planned("memory.xpu/A.Pass"), planned("memory.xpu/A.Skip"),
                             planned("memory.xpu/B.Skip"), planned("memory.xpu/A.Fail")});
  plan.sim = SimInfo{"xpu:2x2", "simgpu"};
  AttemptEnded failed = ended("memory.xpu/A.Fail", {Outcome::kFail, ""});
  failed.failures = {{"M-1", "read *back* 0x00", "copy.cc", 1, "", "", ""}};
  failed.marks = {Mark::kLeaky};
  const std::string text = summary_markdown(resolved_of(
      {plan, concluded("memory.xpu/A.Pass", {Outcome::kPass, ""}),
       concluded("memory.xpu/A.Skip", {Outcome::kSkip, {Reason::kNeeds, "devices>=2"}}),
       concluded("memory.xpu/B.Skip", {Outcome::kSkip, {Reason::kNeeds, "devices>=2"}}),
       started("memory.xpu/A.Fail"), failed,
       DeviceHealth{"xpu-sim:1", HealthFact::kWaited, "memory.xpu/A.Fail", 7, 300, 0, "late"},
       DeviceHealth{"xpu-sim:1", HealthFact::kDrained, "memory.xpu/A.Fail", 8, 0, 0, "lost: gone"},
       Warning{WarningWord::in_text("output_lost"), "no space"}, RunEnded{"2026-01-31T12:00:09Z", 9000}}));
  EXPECT_THAT(
      text,
      StartsWith("# Proctor: FAILED: GPU xpu-sim:1 is unhealthy: it was lost before memory.xpu/A.Fail. "));
  EXPECT_THAT(text, HasSubstr(" (exit code 1)\n\n> **SIMULATED.**"));
  EXPECT_THAT(
      text,
      HasSubstr("\n**1 of 4 cases failed, with 1 cause.**\n4 planned: 1 passed, 1 failed, 2 skipped.\n"));
  EXPECT_THAT(text, HasSubstr("| `fail` | read \\*back\\* 0x00 | `copy.cc:1` | `xpu:0000:03:00.0` | "
                              "`memory.xpu/A.Fail` | - |\n"));
  EXPECT_THAT(text, HasSubstr("<details><summary><b>fail</b> at copy.cc:1: <code>memory.xpu/A.Fail</code>"));
  EXPECT_THAT(text,
              HasSubstr("<pre>owner:         code<br>what:          fail: read *back* 0x00<br>on:            "
                        "xpu:0000:03:00.0 (Card)<br>rerun:         proctor run memory --backend xpu --case "
                        "memory.xpu/A.Fail<br>where to look: "
                        "copy.cc:1 · logs/"));
  EXPECT_THAT(text, HasSubstr("- 2 × `needs:devices>=2`: `memory.xpu/A.Skip`, `memory.xpu/B.Skip`\n"));
  EXPECT_THAT(text, HasSubstr("- 1 × `leaky`: `memory.xpu/A.Fail`\n"));
  EXPECT_THAT(text, HasSubstr("## Drained devices\n\n- `xpu-sim:1`: lost: gone (at `memory.xpu/A.Fail`)\n"));
  EXPECT_THAT(text, HasSubstr("- `output_lost`: no space\n"));
  EXPECT_THAT(text, HasSubstr("not guaranteed: a memory limit"));
}

TEST(Summary, GreenHardwareRunHasNoMarks) {
  const std::string text = summary_markdown(
      resolved_of({plan_of({planned("s/a")}), concluded("s/a", {Outcome::kPass, ""}), RunEnded{"x", 1}}));
  EXPECT_TRUE(text.starts_with("# Proctor: PASSED (exit code 0)\n"));
  EXPECT_THAT(text, Not(HasSubstr("SIMULATED")));
  EXPECT_THAT(text, Not(HasSubstr("<pre>")));
}

// Of 2000 cases 45 fail with 10 causes. Each cause has an entry, and the summary has at most 60 lines.
TEST(Summary, GroupsFailuresByCause) {
  constexpr int kCases = 2000;
  constexpr int kFailures = 45;
  std::vector<PlannedCase> cases;
  std::vector<Event> events = {Event{}};
  for (int i = 0; i < kCases; ++i) {
    const std::string id = "s/Case." + std::to_string(i);
    cases.push_back(planned(id));
    if (i >= kFailures) {
      events.push_back(concluded(id, {Outcome::kPass, ""}));
      continue;
    }
    const int line = 20 + i % 10;
    AttemptStarted start = started(id);
    start.devices = {"xpu-sim:" + std::to_string(i % 4)};
    AttemptEnded end = ended(id, {Outcome::kFail, ""});
    end.failures = {
        {"M-1", "the sum is wrong\n\nin <row> " + std::to_string(i), "src/k.cc", line, "", "", ""}};
    events.insert(events.end(), {start, end});
    const int runs = line == 27 ? 0 : 2;
    events.push_back(CasePast{id, 9, runs, 0, runs == 0 ? "" : "0123abc", "4567def"});
  }
  events.push_back(RunEnded{"x", 1});
  RunPlanned plan = plan_of(std::move(cases));
  for (int i = 0; i < 4; ++i)
    plan.devices.push_back({"xpu-sim:" + std::to_string(i), "xpu", "Simulated GPU 100"});
  events[0] = plan;
  const std::string text = summary_markdown(resolved_of(events));
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 60) << text;
  EXPECT_THAT(text, HasSubstr("**45 of 2,000 cases failed, with 10 causes, 1 of them new.**\n"));
  EXPECT_THAT(text,
              HasSubstr("| --- |\n| `fail` | the sum is wrong in \\<row\\> 7 | `src/k.cc:27` | `xpu-sim:1, "
                        "xpu-sim:3` | `s/Case.7` and 3 more | `NEW: passed in 4567def` |\n"));
  EXPECT_THAT(text, HasSubstr("| `src/k.cc:20` | `xpu-sim:0, xpu-sim:2` | `s/Case.0` and 4 more | `first "
                              "failed in 0123abc (3 runs)` |\n"));
  EXPECT_THAT(text,
              HasSubstr("<b>fail</b> at src/k.cc:20: 5 cases, first failed in 0123abc (3 runs)</summary>"
                        "<code>s/Case.0</code>, <code>s/Case.10</code>, "));
  EXPECT_THAT(text, HasSubstr("<pre>the sum is wrong<br><br>in &lt;row&gt; 7<br>"));
  std::size_t entries = 0;
  for (std::size_t at = text.find("<details><summary><b>"); at != text.npos;
       at = text.find("<details><summary><b>", at + 1))
    ++entries;
  EXPECT_EQ(entries, 10u);
}

TEST(Summary, HeadlineNamesFlakyCasesAsReason) {
  AttemptEnded bad = ended("s/a", {Outcome::kFail, ""});
  bad.failures = {{"M-1", "now and then", "src/k.cc", 7, "", "", ""}};
  const std::vector<Event> events = {plan_of({planned("s/a"), planned("s/b")}),
                                     started("s/a"),
                                     bad,
                                     started("s/a", 2),
                                     ended("s/a", {Outcome::kPass, ""}, 2),
                                     concluded("s/a", {Outcome::kPass, ""}, {Mark::kFlaky}),
                                     CasePast{"s/a", 3, 0, 2, "", "0123abc"}};
  auto flaky = events;
  flaky.insert(flaky.end(), {concluded("s/b", {Outcome::kPass, ""}), RunEnded{"x", 1}});
  const std::string text = summary_markdown(resolved_of(flaky));
  EXPECT_THAT(text,
              StartsWith("# Proctor: FAILED (exit code 1)\n\n**1 case was flaky: failed, then "
                         "passed.** `--flaky pass:1%` allows flaky cases.\n2 planned: 1 passed, 1 flaky.\n"));
  EXPECT_THAT(text, HasSubstr("| `flaky` | now and then | `src/k.cc:7` | `xpu:0000:03:00.0` | `s/a` | `flaky "
                              "in 2 of 3 earlier runs` |\n"));
  auto failed = events;
  failed.insert(failed.end(), {concluded("s/b", {Outcome::kFail, ""}), RunEnded{"x", 1}});
  EXPECT_THAT(summary_markdown(resolved_of(failed)),
              StartsWith("# Proctor: FAILED (exit code 1)\n\n**1 of 2 cases failed, with 1 cause; 1 case was "
                         "flaky: failed, then passed.**"));
}

TEST(Summary, SuggestsRerunForSuspectDevice) {
  std::vector<PlannedCase> cases;
  std::vector<Event> events = {Event{}};
  for (int i = 0; i < 8; ++i) {
    const std::string id = "s/" + std::to_string(i);
    cases.push_back(planned(id));
    AttemptStarted start = started(id);
    start.devices = {"xpu-sim:" + std::to_string(i % 2)};
    events.insert(events.end(), {start, ended(id, {i == 0 || i == 2 ? Outcome::kFail : Outcome::kPass, ""})});
  }
  RunPlanned plan = plan_of(std::move(cases));
  plan.devices = {{"xpu-sim:0", "xpu", "Card"}, {"xpu-sim:1", "xpu", "Card"}};
  events[0] = plan;
  EXPECT_THAT(
      summary_markdown(resolved_of(events)),
      HasSubstr("\nAll 2 failures ran only on xpu-sim:0. Code or device? `proctor rerun RUN_DIR --failed "
                "--each-device --repeat 5`\n"));
}

TEST(Summary, ReportsThatNoCaseExecuted) {
  RunPlanned plan = plan_of({});
  plan.missing_backend = "cuda";
  const std::string text = summary_markdown(resolved_of({plan, RunEnded{"x", 1}}));
  EXPECT_THAT(text, StartsWith("# Proctor: INCOMPLETE (exit code 3)\n"));
  EXPECT_THAT(text, HasSubstr("**no cuda device was found here;"));
  EXPECT_THAT(text, HasSubstr("**0 of 0 planned cases executed, at least 1 required.**"));
}

TEST(Summary, NamesReasonForMissingDevices) {
  RunPlanned plan = plan_of({});
  plan.missing_backend = "xpu";
  plan.stack = {{"xpu.caller_mask", "7"}};
  EXPECT_THAT(no_device_text(plan), HasSubstr("no xpu device was found here")) << "the mask left some";
  plan.hidden_by = "NEO_ZE_AFFINITY_MASK";
  EXPECT_THAT(no_device_text(plan), HasSubstr("the caller's NEO_ZE_AFFINITY_MASK='7' leaves no xpu device"));
  plan.hidden_by = "CTEST_RESOURCE_GROUP_COUNT";
  EXPECT_THAT(no_device_text(plan), HasSubstr("CTest has given this test no xpu device"));
}

TEST(Summary, FitsStepSummaryLimit) {
  std::vector<PlannedCase> cases;
  std::vector<Event> events = {Event{}};
  for (int i = 0; i < 3000; ++i) {
    PlannedCase one = planned("s/" + std::string(900, 'n') + std::to_string(i));
    events.push_back(concluded(
        one.id, {i % 2 ? Outcome::kFail : Outcome::kSkip, reason_in_words("r:" + std::to_string(i))}));
    cases.push_back(std::move(one));
  }
  events[0] = plan_of(std::move(cases));
  const std::string text = summary_markdown(resolved_of(events));
  EXPECT_LT(text.size(), 1'000'000u);
  EXPECT_THAT(text, HasSubstr("1400 more causes: see `report.json`"));
}

TEST(Summary, HostileTextStaysOnOneLine) {
  const std::string text = summary_markdown(resolved_of(rich_journal()));
  EXPECT_EQ(clean_text(text), text);
  for (std::size_t at = text.find("\n#"); at != text.npos; at = text.find("\n#", at + 1)) {
    EXPECT_TRUE(text.substr(at, 4) == "\n## " || text.substr(at, 5) == "\n### ") << text.substr(at, 40);
  }
}

TEST(Summary, ListsDaysLeftOfKnownFailures) {
  RunPlanned plan = plan_of({planned("s/a"), planned("s/b")});
  plan.known_failures = KnownFailuresFile{"known.toml",
                                          "ff",
                                          {{"known.toml:1", {"s/*"}, "seen", "i/1", "us", "", "2026-02-01"},
                                           {"known.toml:9", {"x"}, "seen", "", "", "", "2026-01-31"},
                                           {"known.toml:17", {"y"}, "seen", "", "", "", "2026-01-29"}}};
  CaseEnded failed = concluded("s/a", {Outcome::kXfail, reason_in_words("M-1")});
  failed.known_failure_location = "known.toml:1";
  const std::string text =
      summary_markdown(resolved_of({plan, failed, concluded("s/b", {Outcome::kPass, ""}), RunEnded{"x", 1}}));
  EXPECT_THAT(text, HasSubstr("## Days left of known failures\n\n"
                              "- 1 day left (until 2026-02-01): `known.toml:1`, 1 case now, us, i/1\n"
                              "- the last day (until 2026-01-31): `known.toml:9`, 0 cases now\n"
                              "- expired 2 days before (until 2026-01-29): `known.toml:17`, 0 cases now\n"));
  EXPECT_THAT(summary_markdown(resolved_of({plan_of({planned("s/a")})})), Not(HasSubstr("Days left")));
}

// The first case detects that the device is unhealthy. The other 29 cases have no device, and are only counted.
TEST(Summary, UnhealthyDeviceIsHeadline) {
  std::vector<PlannedCase> cases;
  for (int i = 0; i < 30; ++i) cases.push_back(planned("s/" + std::to_string(i)));
  RunPlanned plan = plan_of(cases);
  plan.devices = {{"xpu-sim:0", "xpu", "Simulated GPU"}};
  AttemptStarted start = started("s/0");
  start.devices = {"xpu-sim:0"};
  std::vector<Event> events = {
      plan, start, ended("s/0", {Outcome::kFail, ""}), AttemptSuspected{"s/0", 1, 1, "xpu-sim:0", "word 4"},
      DeviceHealth{
          .device = "xpu-sim:0", .what = HealthFact::kProbeFailed, .case_id = "s/0", .evidence = ""}};
  for (const PlannedCase& one : cases)
    events.push_back(concluded(one.id, {Outcome::kNotrun, Reason::kDeviceUnhealthy}));
  events.push_back(RunEnded{"x", 1});
  const std::string text = summary_markdown(resolved_of(events));
  EXPECT_THAT(text, StartsWith("# Proctor: MACHINE FAILED: GPU xpu-sim:0 is unhealthy: its health probe "
                               "failed after s/0. (exit code 75)\n"));
  EXPECT_THAT(text, HasSubstr("- 30 cases have no result: no other device was left.\n"));
  EXPECT_THAT(text,
              HasSubstr("- Drain the node, then test the device: `proctor accept --devices xpu-sim:0`\n"));
  EXPECT_THAT(text, HasSubstr("## Not run\n\n- 29 × `device_unhealthy`\n"));
  EXPECT_THAT(text, Not(HasSubstr("s/7")));
}

TEST(Summary, NamesTestedCommit) {
  RunPlanned plan = plan_of({});
  EXPECT_THAT(summary_markdown(resolved_of({plan})), Not(HasSubstr("Tested:")));
  plan.subject.commit = {"0123abc", "GITHUB_SHA", ""};
  plan.subject.repository = {"https://git.example/a", ".git", ""};
  plan.subject.branch = {"main", ".git", ""};
  plan.subject.dirty = {"true", "git status", ""};
  EXPECT_THAT(
      summary_markdown(resolved_of({plan})),
      HasSubstr("\nTested: `0123abc` of `https://git.example/a`, branch `main`, with changes that are in no "
                "commit.\n"));
}

// An interrupted case is counted like a case that never started, and not as a failure.
TEST(Summary, InterruptedCaseIsNotFailure) {
  const std::string text = summary_markdown(
      resolved_of({plan_of({planned("a/bad"), planned("a/cut"), planned("a/never")}), started("a/bad"),
                   ended("a/bad", {Outcome::kFail, ""}), concluded("a/bad", {Outcome::kFail, ""}),
                   started("a/cut"), StopRequested{2, StopCause::kSignal, 5}}));
  EXPECT_THAT(text, HasSubstr("**1 of 3 cases failed, with 1 cause.**\n3 planned: 1 failed, 2 not run.\n"));
}

}  // namespace
}  // namespace proctor
