#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/formats/junit.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Verdict kPassed{Outcome::kPass, ""};

// Returns a run with one passed case, and with the events in `more`.
ResolvedRun good_run(const std::vector<Event>& more, RunPlanned plan = plan_of({planned("s/a")})) {
  std::vector<Event> events = {std::move(plan), started("s/a"), ended("s/a", kPassed),
                               concluded("s/a", kPassed)};
  events.insert(events.end(), more.begin(), more.end());
  events.emplace_back(RunEnded{"2026-01-31T12:00:09Z", 9000});
  return resolved_of(events);
}

std::vector<std::string> names_of(const ResolvedRun& run) {
  std::vector<std::string> names;
  for (const auto& problem : run.problems) names.push_back(problem.name);
  return names;
}

bool junit_is_green(const ResolvedRun& run) {
  return junit_run(run).find(R"(failures="0" errors="0">)") < 300;
}

TEST(RunProblems, GreenRunHasNoProblems) {
  EXPECT_THAT(names_of(good_run({})), IsEmpty());
  EXPECT_TRUE(junit_is_green(good_run({})));
  EXPECT_THAT(junit_run(good_run({})), Not(HasSubstr("proctor.run\"")));
}

TEST(RunProblems, RunProblemsFailEveryReport) {
  RunPlanned more = plan_of({planned("s/a")});
  more.rules.min_executed = 2;
  RunPlanned none = plan_of({planned("s/a")});
  none.missing_backend = "cuda";
  RunPlanned exec = plan_of({planned("s/a", "command")});
  exec.exec = true;
  const struct {
    ResolvedRun run;
    const char* name;
    int code;
  } rows[] = {
      {good_run({concluded("s/a", kPassed, {Mark::kFlaky})}), "flaky", 1},
      {good_run({concluded("s/a", kPassed, {Mark::kDeviceSuspect})}), "device_suspect", 75},
      {good_run({Warning{WarningCode::kDeviceShortage, "3 requested"}}), "no_device", 75},
      {good_run({Warning{WarningCode::kDeviceAccess, "cgroup"}}), "device_access", 75},
      {good_run({Warning{WarningCode::kStackChanged, "kernel"}}), "stack_changed", 75},
      {good_run({Warning{WarningCode::kMaskMismatch, "another card"}}), "mask_mismatch", 75},
      {good_run({Warning{WarningCode::kJournalChanged, "line 3"}}), "journal_changed", 75},
      {good_run({Warning{WarningCode::kReportNotWritten, "no space"}}), "report_not_written", 75},
      {good_run({Warning{WarningCode::kPartRefused, "parts/2"}}), "part_refused", 1},
      {good_run({Warning{WarningCode::kPartIncomplete, "parts/2"}}), "part_incomplete", 3},
      {good_run({}, more), "min_executed", 3},
      {good_run({}, none), "no_device", 3},
      {good_run({StopRequested{15, StopCause::kSignal, 5}}), "interrupted", 143},
      {good_run({concluded("s/a", {Outcome::kSkip, {Reason::kNeeds, "devices>=2"}})}, exec), "exit_code",
       125},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_THAT(names_of(row.run), ElementsAre(row.name));
    EXPECT_EQ(row.run.shell_exit_code != 0, !junit_is_green(row.run));
    if (row.code != 125) {
      EXPECT_EQ(row.run.shell_exit_code, row.code);
    }
    const std::string error = "type=\"proctor.run." + std::string(row.name) + "\"";
    EXPECT_THAT(junit_run(row.run), HasSubstr(error));
    ASSERT_EQ(junit_suites(row.run).size(), 2u);
    EXPECT_EQ(junit_suites(row.run).back().name, "proctor.run.xml");
    EXPECT_THAT(junit_suites(row.run).back().text, HasSubstr(error));
  }
}

TEST(RunProblems, NamesSkipsWithoutADevice) {
  RunPlanned plan = plan_of({planned("s/a", "pytest"), planned("s/b", "pytest")});
  plan.suites = {
      PlannedSuite{.name = plan.cases[0].suite, .backend = plan.cases[0].backend, .kind = "pytest"}};
  plan.backends_present = {"cuda"};
  const ResolvedRun run =
      resolved_of({plan, concluded("s/a", kPassed), ended("s/a", kPassed),
                   concluded("s/b", {Outcome::kSkip, {Reason::kFramework, "no CUDA"}}), RunEnded{"x", 1}});
  ASSERT_THAT(names_of(run), ElementsAre("skipped"));
  EXPECT_THAT(run.problems[0].message, HasSubstr("Add --gpus 1, or --gpus 0 if it needs none"));
  EXPECT_EQ(run.shell_exit_code, 3);
  EXPECT_FALSE(junit_is_green(run));
}

TEST(RunProblems, NamesSuspectDeviceWithCase) {
  auto elsewhere = started("s/a", 2);
  elsewhere.devices = {"xpu:1"};
  const ResolvedRun run = resolved_of(
      {plan_of({planned("s/a")}), started("s/a"), ended("s/a", {Outcome::kFail, {Reason::kExit, 1}}),
       AttemptSuspected{"s/a", 1, 1, "xpu:0000:03:00.0", "wrong bytes"}, elsewhere, ended("s/a", kPassed, 2),
       concluded("s/a", kPassed), RunEnded{"x", 1}});
  ASSERT_THAT(names_of(run), ElementsAre("device_suspect"));
  EXPECT_THAT(run.problems[0].message,
              HasSubstr("s/a: fail · exit code 1 on xpu:0000:03:00.0, which was found unhealthy"));
}

TEST(RunProblems, JunitWithoutRunIsError) {
  const std::string text = junit_without_run("it is <refused>");
  EXPECT_THAT(text, HasSubstr(R"(errors="1")"));
  EXPECT_THAT(text, HasSubstr("it is &lt;refused&gt;"));
}

}  // namespace
}  // namespace proctor
