#include "reports/formats/github.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/base/text.h"
#include "reports/formats/formats.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Level = AnnotationLevel;

std::vector<Annotation> of_level(const std::vector<Annotation>& all, Level level) {
  std::vector<Annotation> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [level](const Annotation& one) { return one.level == level; });
  return some;
}

AttemptEnded failed(const std::string& id, const std::string& message, const std::string& file) {
  AttemptEnded end = ended(id, {Outcome::kFail, ""});
  end.failures = {{"M-1", message, file, 7, "", "", ""}};
  return end;
}

ResolvedRun one_failure(const std::string& message, const std::string& file = "tests/copy.cc") {
  return resolved_of(
      {plan_of({planned("s/a")}), started("s/a"), failed("s/a", message, file), RunEnded{"x", 1}});
}

TEST(Github, FailureIsErrorAtSourceLine) {
  const auto all = annotations(one_failure("read back 0x00"), "/w");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].level, Level::kError);
  EXPECT_EQ(all[0].title, "s/a: read back 0x00");
  EXPECT_EQ(all[0].file, "tests/copy.cc");
  EXPECT_EQ(all[0].line, 7);
  EXPECT_THAT(all[0].message, HasSubstr("owner:         code"));
  EXPECT_THAT(all[0].message, HasSubstr("rerun:         proctor run"));
  EXPECT_THAT(workflow_command(all[0]),
              StartsWith("::error title=s/a%3A read back 0x00,file=tests/copy.cc,line=7::s/a%0A"));
}

TEST(Github, AnnotatesOnlyFilesInCheckout) {
  EXPECT_EQ(annotations(one_failure("m", "/w/tests/copy.cc"), "/w")[0].file, "tests/copy.cc");
  EXPECT_EQ(annotations(one_failure("m", "/workshop/copy.cc"), "/w")[0].file, "");
  EXPECT_EQ(annotations(one_failure("m", "/elsewhere/copy.cc"), "")[0].file, "");
}

TEST(Github, CasesDifferingInNumbersShareAnnotation) {
  const ResolvedRun run = resolved_of({plan_of({planned("s/a"), planned("s/b"), planned("s/c")}),
                                       started("s/a"), failed("s/a", "at 0xffe0: got 17", ""), started("s/b"),
                                       failed("s/b", "at 0x12: got 4", ""), started("s/c"),
                                       failed("s/c", "at 0x12: hung", ""), RunEnded{"x", 1}});
  const auto all = annotations(run, "");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].title, "s/a and 1 more: at 0xffe0: got 17");
  EXPECT_THAT(all[0].message, HasSubstr("all with this cause:\ns/a\ns/b"));
  EXPECT_EQ(all[1].title, "s/c: at 0x12: hung");
}

TEST(Github, TimeoutIsAnnotatedAtStackFrame) {
  AttemptEnded hung = ended("s/a", {Outcome::kTimeout, ""});
  hung.evidence.frame = StackFrame{"wait_for_it", "/w/src/queue.cc:40"};
  const auto all =
      annotations(resolved_of({plan_of({planned("s/a")}), started("s/a"), hung, RunEnded{"x", 1}}), "/w");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].file, "src/queue.cc");
  EXPECT_EQ(all[0].line, 40);
  EXPECT_THAT(all[0].title, StartsWith("s/a: still running after "));
}

TEST(Github, NewCausesPrecedeKnownAndFlaky) {
  std::vector<Event> events = {plan_of({planned("s/old"), planned("s/new"), planned("s/a"), planned("s/b")}),
                               started("s/old"),
                               failed("s/old", "old", "o.cc"),
                               started("s/new"),
                               failed("s/new", "fresh", "n.cc"),
                               CasePast{"s/old", 9, 2, 0, "0123abc", ""},
                               CasePast{"s/new", 9, 0, 0, "", "0123abc"}};
  for (const std::string id : {"s/a", "s/b"}) {
    const std::vector<Event> flaky = {started(id), failed(id, "now and then", "tests/copy.cc"),
                                      started(id, 2), ended(id, {Outcome::kPass, ""}, 2),
                                      concluded(id, {Outcome::kPass, ""}, {Mark::kFlaky})};
    events.insert(events.end(), flaky.begin(), flaky.end());
  }
  events.push_back(CasePast{"s/a", 3, 0, 2, "", "0123abc"});
  events.push_back(RunEnded{"x", 1});
  const auto red = annotations(resolved_of(events), "");
  ASSERT_EQ(red.size(), 3u);
  EXPECT_EQ(red[0].title, "s/new (new): fresh");
  EXPECT_THAT(red[0].message, HasSubstr("history:       NEW: passed in 0123abc\n"));
  EXPECT_EQ(red[1].title, "s/old: old");
  EXPECT_THAT(red[1].message, HasSubstr("history:       first failed in 0123abc (3 runs)\n"));
  EXPECT_EQ(red[2].title, "flaky: s/a and 1 more: now and then");
  EXPECT_EQ(red[2].level, Level::kError);
  EXPECT_EQ(red[2].file, "tests/copy.cc");
  EXPECT_THAT(red[2].message, HasSubstr("history:       flaky in 2 of 3 earlier runs\n"));
  EXPECT_THAT(red[2].message, HasSubstr("--flaky pass:50% allows flaky cases."));
  auto& plan = std::get<RunPlanned>(events[0]);
  plan.flaky_passes = true;
  plan.max_flaky_percent = 100;
  const auto allowed = annotations(resolved_of(events), "");
  ASSERT_EQ(allowed.size(), 3u);
  EXPECT_EQ(allowed[2].level, Level::kWarning);
}

// Many failures with 16 causes, and 26 warnings. One of the ten errors remains for the exit code of the step.
TEST(Github, LimitsAnnotationsPerLevel) {
  constexpr int kCases = 20'000;
  std::vector<PlannedCase> cases;
  std::vector<Event> events = {Event{}};
  for (int i = 0; i < kCases; ++i) {
    const std::string id = "s/" + std::to_string(i);
    cases.push_back(planned(id));
    events.push_back(started(id));
    // The n-th letter occurs in 1/2, 1/4, ... of the cases, so that the ranks are known.
    const int letter = i == 0 ? 25 : std::min(__builtin_ctz(static_cast<unsigned>(i)), 24);
    events.push_back(failed(id, "cause " + std::string(1, static_cast<char>('a' + letter)), ""));
  }
  for (char c = 'a'; c <= 'z'; ++c)
    events.push_back(Warning{WarningWord::in_text(std::string(1, c)), "text"});
  events.push_back(RunEnded{"x", 1});
  events[0] = plan_of(std::move(cases));
  const ResolvedRun run = resolved_of(events);

  const auto all = annotations(run, "");
  const auto errors = of_level(all, Level::kError);
  ASSERT_EQ(errors.size(), 9u);
  EXPECT_EQ(errors[0].title, "s/1 and 9,999 more: cause a");
  EXPECT_EQ(errors[7].title, "s/128 and 77 more: cause h");
  EXPECT_EQ(errors[8].title, "8 more causes");
  EXPECT_THAT(errors[8].message, StartsWith("8 more causes, with 79 cases,"));
  EXPECT_EQ(of_level(all, Level::kWarning).size(), 10u);
  for (const Annotation& one : all) {
    EXPECT_LT(one.title.size() + one.message.size(), 16'000u);
    EXPECT_LT(workflow_command(one).size(), 3 * 4096u);
  }

  EXPECT_LE(summary_markdown(run).size(), kJobSummaryBytes);
  const std::string small = summary_markdown(run, 5000);
  EXPECT_LE(small.size(), 5000u);
  EXPECT_THAT(small, HasSubstr("# Proctor: FAILED (exit code 1)"));
  EXPECT_THAT(small, HasSubstr(" entries did not fit into 5000 bytes"));
  EXPECT_EQ(summary_markdown(run, 10), "");
}

TEST(Github, CausesOfExitCodeComeFirst) {
  const ResolvedRun run =
      resolved_of({plan_of({planned("s/lost"), planned("s/lost2"), planned("s/fail"), planned("s/not")}),
                   started("s/lost"), ended("s/lost", {Outcome::kDeviceLost, ""}), started("s/lost2"),
                   ended("s/lost2", {Outcome::kDeviceLost, ""}), started("s/fail"), failed("s/fail", "m", ""),
                   RunEnded{"x", 1}});
  const auto all = annotations(run, "");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].title, "s/fail: m");
  EXPECT_THAT(all[1].title, StartsWith("s/lost and 1 more: "));
  EXPECT_EQ(all[2].level, Level::kWarning);
  EXPECT_THAT(all[2].title, HasSubstr("notrun · interrupted"));
}

TEST(Github, SkipsAndSimulationAreNotices) {
  RunPlanned plan = plan_of({planned("s/a"), planned("s/b"), planned("s/c")});
  plan.sim = SimInfo{"xpu:2x2", "simgpu"};
  const ResolvedRun run =
      resolved_of({plan, concluded("s/a", {Outcome::kPass, ""}),
                   concluded("s/b", {Outcome::kSkip, {Reason::kNeeds, "devices>=2"}}),
                   concluded("s/c", {Outcome::kSkip, {Reason::kNeeds, "devices>=2"}}), RunEnded{"x", 1}});
  const auto all = annotations(run, "");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].title, "Simulated");
  EXPECT_EQ(all[1].title, "2 cases: skip · needs:devices>=2");
  EXPECT_EQ(of_level(all, Level::kNotice).size(), 2u);
}

TEST(Github, EveryRedRunHasAnError) {
  EXPECT_EQ(annotations(resolved_of({plan_of({})}), "").front().level, Level::kError);
  const auto flaky =
      annotations(resolved_of({plan_of({planned("s/a")}), started("s/a"),
                               concluded("s/a", {Outcome::kPass, ""}, {Mark::kFlaky}), RunEnded{"x", 1}}),
                  "");
  EXPECT_THAT(flaky.front().title, StartsWith("flaky: s/a: "));
  EXPECT_EQ(flaky.front().level, Level::kError);
  const auto stack =
      annotations(resolved_of({plan_of({planned("s/a")}), concluded("s/a", {Outcome::kPass, ""}),
                               Warning{WarningCode::kStackChanged, "kernel"}, RunEnded{"x", 1}}),
                  "");
  EXPECT_EQ(stack.front().level, Level::kError);
  EXPECT_EQ(stack.front().title, "The driver stack changed");
}

// The test decodes message and properties like the GitHub runner.
TEST(Github, MessageCannotEndWorkflowCommand) {
  for (const std::string& nasty : {awkward_text(), std::string("50%\r\n::error::x\n::set-output name=a::b"),
                                   std::string("a,file=/etc/passwd,line=1::x"), std::string(100'000, 'x')}) {
    const std::string command =
        workflow_command(annotations(one_failure(nasty, nasty.substr(0, 200)), "").front());
    EXPECT_EQ(command.find_first_of("\r\n"), command.npos);
    EXPECT_THAT(command, StartsWith("::error title="));
    const std::string properties = command.substr(0, command.find("::", 2));
    EXPECT_LE(std::count(properties.begin(), properties.end(), ','), 2);
    EXPECT_EQ(clean_text(command), command);
    EXPECT_LT(command.size() - properties.size(), 3 * 4000u);
  }
  EXPECT_LE(workflow_command({.title = "t", .message = std::string(9000, 'm')}).size(), 4050u);
}

TEST(Github, VerdictFollowsOutcomes) {
  const auto verdict = [](std::vector<Event> events, bool exec = false) {
    RunPlanned plan = plan_of({planned("s/a", exec ? "command" : "proctor")});
    plan.exec = exec;
    events.insert(events.begin(), plan);
    return resolved_of(events).verdict;
  };
  const RunEnded done{"x", 1};
  const auto is = [](Outcome outcome, std::string reason = "") {
    return concluded("s/a", {outcome, reason_in_words(std::move(reason))});
  };
  EXPECT_EQ(verdict({is(Outcome::kPass), done}), RunVerdict::kPassed);
  EXPECT_EQ(verdict({is(Outcome::kFail), done}), RunVerdict::kFailed);
  EXPECT_EQ(verdict({is(Outcome::kDeviceLost), done}), RunVerdict::kMachineFailed);
  EXPECT_EQ(verdict({is(Outcome::kNotrun, "run_limit"), done}), RunVerdict::kIncomplete);
  EXPECT_EQ(verdict({is(Outcome::kSkip, "needs:x"), done}), RunVerdict::kIncomplete);
  EXPECT_EQ(verdict({StopRequested{15, StopCause::kSignal, 1}, done}), RunVerdict::kInterrupted);
  EXPECT_EQ(verdict({is(Outcome::kFail), StopRequested{2, StopCause::kSignal, 1}, done}),
            RunVerdict::kInterrupted);
  EXPECT_EQ(verdict({started("s/a")}), RunVerdict::kInterrupted);
  EXPECT_EQ(verdict({is(Outcome::kPass)}), RunVerdict::kInterrupted);
  EXPECT_EQ(verdict({is(Outcome::kFail)}), RunVerdict::kFailed);
  EXPECT_EQ(verdict({}, true), RunVerdict::kMachineFailed);
}

}  // namespace
}  // namespace proctor
