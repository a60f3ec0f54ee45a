#include "harness/cli/console/ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/test_journal.h"

namespace proctor::cli {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kDevice = "xpu:0000:03:00.0";

RunPlanned plan_on(const std::vector<std::string>& ids, const std::vector<std::string>& devices) {
  std::vector<PlannedCase> cases;
  for (const std::string& id : ids) cases.push_back(planned(id));
  RunPlanned plan = plan_of(std::move(cases));
  plan.devices.clear();
  for (const std::string& id : devices) {
    plan.devices.emplace_back();
    plan.devices.back().id = id;
    plan.devices.back().backend = "xpu";
  }
  return plan;
}

void add_failing(std::vector<Event>& events, const std::string& id, const std::string& message,
                 const std::string& file, int line) {
  AttemptEnded end = ended(id, {Outcome::kFail, ""});
  end.failures = {{"", message, file, line, "", "", ""}};
  events.push_back(started(id));
  events.push_back(end);
}

CasePast past_of(const std::string& id, int failing_runs) {
  CasePast past;
  past.case_id = id;
  past.runs = 3;
  past.failing_runs = failing_runs;
  past.since = failing_runs > 0 ? "0123abc" : "";
  return past;
}

TEST(FailedLines, ListNewFailuresFirstWithLocation) {
  std::vector<Event> events = {plan_on({"s/old", "s/new"}, {kDevice, "xpu:other"})};
  add_failing(events, "s/old", "first\nsecond", "src/a.cc", 26);
  add_failing(events, "s/new", "fresh", "src/b.cc", 7);
  events.push_back(past_of("s/old", 2));
  events.push_back(past_of("s/new", 0));
  const ResolvedRun run = resolved_of(events);
  const auto lines = failed_lines(failing_groups(run));
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_TRUE(lines[0].is_new);
  EXPECT_EQ(lines[0].word, "FAIL");
  EXPECT_EQ(lines[0].head, "src/b.cc:7 s/new on xpu:0000:03:00.0");
  EXPECT_FALSE(lines[1].is_new);
  EXPECT_EQ(lines[1].head, "src/a.cc:26 s/old on xpu:0000:03:00.0, first failed in 0123abc (3 runs)");
  EXPECT_EQ(lines[1].message, "first");
}

TEST(FailedLines, JoinIntroductoryLineWithNextLines) {
  std::vector<Event> events = {plan_on({"s/a"}, {kDevice})};
  add_failing(events, "s/a", "Expected equality of these values:\n  i\n  3", "", 0);
  const ResolvedRun run = resolved_of(events);
  const auto lines = failed_lines(failing_groups(run));
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].message, "Expected equality of these values: i 3");
}

TEST(FailedLines, OmitHistoryAndOnlyDevice) {
  std::vector<Event> events = {plan_on({"s/a"}, {kDevice})};
  add_failing(events, "s/a", "bad", "", 0);
  const ResolvedRun run = resolved_of(events);
  const auto lines = failed_lines(failing_groups(run));
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].head, "s/a");
}

TEST(FailedLines, BoundCountAndLengthOfLines) {
  std::vector<std::string> ids;
  for (int i = 0; i < 300; ++i) ids.push_back("s/" + std::to_string(i) + std::string(5000, 'x'));
  std::vector<Event> events = {plan_on(ids, {kDevice})};
  for (const std::string& id : ids)
    add_failing(events, id, std::string(1 << 16, 'm') + "\n\x1b[31m\u202e", "a.cc", 1);
  const ResolvedRun run = resolved_of(events);
  const auto lines = failed_lines(failing_groups(run));
  EXPECT_THAT(lines, SizeIs(kMaxListed));
  for (const FailedLine& line : lines) EXPECT_LT(line.head.size() + line.message.size(), 600u);
}

TEST(FailedLines, ReportUnfinishedCaseAsInterrupted) {
  const ResolvedRun run = resolved_of({plan_on({"s/a"}, {kDevice}), started("s/a"),
                                       StopRequested{.signal = 2, .reason = StopCause::kSignal}});
  const auto lines = failed_lines(failing_groups(run));
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].word, "INTERRUPTED");
}

TEST(DeviceLines, SuggestRerunOnEachDevice) {
  std::vector<Event> events = {plan_on({"s/a", "s/b", "s/c", "s/d"}, {kDevice, "xpu:other"})};
  for (const char* id : {"s/a", "s/b", "s/c"}) add_failing(events, id, "bad", "a.cc", 1);
  AttemptStarted other = started("s/d");
  other.devices = {"xpu:other"};
  events.push_back(other);
  events.push_back(ended("s/d", {Outcome::kPass, ""}));
  EXPECT_THAT(device_lines(resolved_of(events), "out/a b"),
              ElementsAre("All 3 failures ran only on xpu:0000:03:00.0.",
                          "Code or device? proctor rerun 'out/a b' --failed --each-device --repeat 5"));
  EXPECT_THAT(device_lines(resolved_of({plan_on({"s/a"}, {kDevice})}), "out"), IsEmpty());
}

// Returns the events of a case that failed on an unhealthy device and passed on another one.
std::vector<Event> moved_case() {
  std::vector<Event> events = {plan_on({"s/a"}, {kDevice, "xpu:other"})};
  add_failing(events, "s/a", "wrong bytes", "a.cc", 1);
  events.push_back(AttemptSuspected{"s/a", 1, 1, kDevice, "word 4"});
  events.push_back(DeviceHealth{
      .device = kDevice, .what = HealthFact::kProbeFailed, .case_id = "s/a", .evidence = "word 4"});
  AttemptStarted elsewhere = started("s/a", 2);
  elsewhere.devices = {"xpu:other"};
  events.insert(events.end(),
                {elsewhere, ended("s/a", {Outcome::kPass, ""}, 2),
                 concluded("s/a", {Outcome::kPass, ""}, {Mark::kDeviceSuspect}), RunEnded{"x", 1}});
  return events;
}

TEST(DeviceLines, ABadDeviceIsTheFirstLine) {
  const auto lines = device_lines(resolved_of(moved_case()), "out");
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(
      lines[0],
      "GPU xpu:0000:03:00.0 is unhealthy: its health probe failed after s/a. The code passed on xpu:other.");
  EXPECT_EQ(lines.back(),
            "  Drain the node, then test the device: proctor accept --devices xpu:0000:03:00.0");
}

TEST(FailedLines, ShowMovedCaseWithBothDevices) {
  const ResolvedRun run = resolved_of(moved_case());
  const auto groups = failing_groups(run);
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_TRUE(groups[0].is_moved);
  const auto lines = failed_lines(groups);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].word, "MOVED");
  EXPECT_EQ(lines[0].head, "a.cc:1 s/a from xpu:0000:03:00.0 to xpu:other");
}

// The shown attempt passed, but the case was not run to its end. The line must have the outcome of the case.
TEST(FailedLines, NeverReportUnrunCaseAsPassed) {
  std::vector<Event> events = {plan_on({"s/a"}, {kDevice, "xpu:other"}), started("s/a"),
                               ended("s/a", {Outcome::kPass, ""}),
                               concluded("s/a", {Outcome::kNotrun, Reason::kRunLimit}), RunEnded{"x", 1}};
  const ResolvedRun run = resolved_of(events);
  const auto lines = failed_lines(failing_groups(run));
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].word, "NOTRUN");
}

TEST(VerdictText, CountsFailuresAndCauses) {
  std::vector<Event> events = {plan_on({"s/a", "s/b", "s/c", "s/d"}, {kDevice})};
  add_failing(events, "s/a", "bad", "a.cc", 1);
  add_failing(events, "s/b", "bad", "a.cc", 1);
  add_failing(events, "s/c", "bad", "a.cc", 2);
  events.push_back(started("s/d"));
  EXPECT_EQ(verdict_text(resolved_of(events), kExitRed), "FAILED: 3 of 4 cases failed, with 2 causes")
      << "s/d was cut short";
  EXPECT_EQ(verdict_text(resolved_of(events), kExitMachine), "MACHINE FAILED: retry on another machine")
      << "a report is lost";
}

TEST(VerdictText, BeginsWithTheHeadline) {
  const auto text = [](std::vector<Event> events) {
    events.insert(events.begin(), plan_on({"s/a"}, {kDevice}));
    const ResolvedRun run = resolved_of(events);
    return verdict_text(run, run.shell_exit_code);
  };
  const std::vector<Event> passed = {started("s/a"), ended("s/a", {Outcome::kPass, ""}),
                                     concluded("s/a", {Outcome::kPass, ""}), RunEnded{"x", 1}};
  EXPECT_EQ(text(passed), "PASSED");
  EXPECT_EQ(text({}), "INTERRUPTED: the runner was killed");
  EXPECT_THAT(text({concluded("s/a", {Outcome::kNotrun, Reason::kRunLimit}), RunEnded{"x", 1}}),
              HasSubstr("INCOMPLETE: something planned was not run"));
}

TEST(VerdictText, ARunThatFailsByFlakyCasesAloneSaysSo) {
  std::vector<Event> events = {plan_on({"s/a", "s/b"}, {kDevice})};
  add_failing(events, "s/a", "not yet", "a.cc", 1);
  events.push_back(started("s/a", 2));
  events.push_back(ended("s/a", {Outcome::kPass, ""}, 2));
  events.push_back(concluded("s/a", {Outcome::kPass, ""}, {Mark::kFlaky}));
  const ResolvedRun run = resolved_of(events);
  EXPECT_EQ(verdict_text(run, run.shell_exit_code), "FAILED: 1 case was flaky: failed, then passed");
  const auto lines = failed_lines(failing_groups(run));
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].word, "FLAKY");
  EXPECT_EQ(lines[0].message, "not yet");
}

using ::testing::Contains;
using ::testing::Each;
using ::testing::Not;

constexpr const char* kId = "gtest/Kernels.Add";

ResolvedRun failed_with(std::vector<Failure> failures, const std::string& kind = "gtest") {
  AttemptEnded end = ended(kId, {Outcome::kFail, ""});
  end.failures = std::move(failures);
  return resolved_of({plan_of({planned(kId, kind)}), started(kId), end});
}

std::vector<std::string> message_of(std::vector<Failure> failures) {
  const ResolvedRun run = failed_with(std::move(failures));
  return message_lines(run.cases.front());
}

LastLines own_of(std::vector<std::string> lines, std::vector<Failure> failures = {}, std::size_t most = 40) {
  const ResolvedRun run = failed_with(std::move(failures));
  const ResolvedCase& test = run.cases.front();
  return own_lines({.lines = std::move(lines), .is_all = false}, test, test.attempts.front(), most);
}

TEST(MessageLines, ListMessageBeforeExpectedAndActualValues) {
  EXPECT_THAT(message_of({{"M-1", "row 3\n  of 9\n", "a.cc", 1, "0xA5", "0x00", ""},
                          {"", "later\ntoo", "a.cc", 9, "", "", ""}}),
              ElementsAre("row 3", "  of 9", "expected: 0xA5", "got:      0x00", "also a.cc:9: later too"));
}

TEST(MessageLines, StripControlsAndLimitLength) {
  std::string text = "a\rb\r\n\x1b[31mred\x1b[0m\n";
  for (int i = 0; i < 1000; ++i) text += "line\n";
  const auto lines = message_of({{"", text, "", 0, "", "", ""}});
  EXPECT_EQ(lines.size(), 41u);
  EXPECT_EQ(lines[0], "a");
  EXPECT_EQ(lines[1], "b");
  EXPECT_EQ(lines[2], "red");
  EXPECT_EQ(lines.back(), "… 963 more lines");
  const auto long_one = message_of({{"", std::string(5'000'000, 'x'), "", 0, "", "", ""}});
  ASSERT_EQ(long_one.size(), 1u);
  EXPECT_LT(long_one[0].size(), 10'000u);
}

TEST(CaseOutputLines, LieBetweenGoogleTestMarkers) {
  const LastLines own =
      own_of({"Running main() from gtest_main.cc", "[ RUN      ] Kernels.Add", "copying", "a.cc:1: Failure",
              "Failed", "no card", "", "[  FAILED  ] Kernels.Add (0 ms)", "[----------] 1 test",
              "[  FAILED  ] 1 test, listed below:", "[  FAILED  ] Kernels.Add"},
             {{"", "Failed\nno card", "a.cc", 1, "", "", ""}});
  EXPECT_THAT(own.lines, ElementsAre("copying"));
  EXPECT_TRUE(own.is_all);
}

TEST(CaseOutputLines, ExtendToEndAfterCrash) {
  EXPECT_THAT(own_of({"[ RUN      ] Kernels.Add", "copying"}).lines, ElementsAre("copying"));
}

TEST(CaseOutputLines, ExcludeOtherCasesOfProcess) {
  EXPECT_THAT(own_of({"[ RUN      ] Kernels.Sub", "theirs", "[       OK ] Kernels.Sub"}).lines, IsEmpty());
}

TEST(CaseOutputLines, EndAtMarkerWhenBeginningIsMissing) {
  const LastLines own = own_of({"step 9", "[  FAILED  ] Kernels.Add (0 ms)", "banner"});
  EXPECT_THAT(own.lines, ElementsAre("step 9"));
  EXPECT_FALSE(own.is_all);
}

TEST(CaseOutputLines, KeepLastLinesUpToLimit) {
  EXPECT_THAT(own_of({"one", "two", "three"}, {}, 2).lines, ElementsAre("two", "three"));
}

}  // namespace

}  // namespace proctor::cli
