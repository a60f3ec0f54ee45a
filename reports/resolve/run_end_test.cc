#include "reports/resolve/run_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "reports/formats/formats.h"
#include "reports/formats/junit.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;

// One possible end of a case, with its column in the public table of exit codes.
struct Ending {
  Outcome outcome;
  const char* reason;
  const char* kind;
  char colour;  // g: passes, r: fails, m: the machine fails, i: incomplete
  bool executed;
};
constexpr Ending kEndings[] = {
    {Outcome::kPass, "", "proctor", 'g', true},
    {Outcome::kFail, "", "proctor", 'r', true},
    {Outcome::kFail, "setup", "pytest", 'r', true},
    {Outcome::kError, "no_result", "proctor", 'r', true},
    {Outcome::kError, "spawn:ENOENT", "gtest", 'r', true},
    {Outcome::kError, "spawn:EAGAIN", "gtest", 'm', true},
    {Outcome::kError, "result_mismatch", "proctor", 'r', true},
    {Outcome::kError, "discovery", "gtest", 'r', true},
    {Outcome::kError, "guard_lost", "proctor", 'm', true},
    {Outcome::kTimeout, "", "command", 'r', true},
    {Outcome::kStall, "", "proctor", 'r', true},
    {Outcome::kCrash, "signal:11", "proctor", 'r', true},
    {Outcome::kDeviceLost, "", "proctor", 'm', true},
    {Outcome::kSkip, "needs:devices>=2", "proctor", 'g', false},
    {Outcome::kXfail, "known", "proctor", 'g', true},
    {Outcome::kXpass, "", "proctor", 'r', true},
    {Outcome::kXpass, "", "pytest", 'g', true},
    {Outcome::kNotrun, "interrupted", "proctor", 'i', false},
    {Outcome::kNotrun, "run_limit", "proctor", 'i', false},
    {Outcome::kNotrun, "device_lost", "proctor", 'm', false},
    {Outcome::kNotrun, "device_unhealthy", "proctor", 'm', false},
    {Outcome::kNotrun, "machine_failures", "proctor", 'm', false},
};

// Conditions of the run that also determine the exit code.
struct Circumstances {
  bool strict, warn, unkillable, no_device;
  int min_executed;
};

int oracle(const std::vector<Ending>& endings, const Circumstances& run) {
  std::string colours;
  int executed = 0;
  for (std::size_t i = 0; i < endings.size(); ++i) {
    const bool good = endings[i].outcome == Outcome::kPass || endings[i].outcome == Outcome::kSkip;
    const bool made_red = i == 0 && run.strict && run.warn && good;
    colours += made_red ? 'r' : endings[i].colour;
    executed += made_red || endings[i].executed;
  }
  const auto any = [&colours](char colour) { return colours.find(colour) != std::string::npos; };
  if (any('r')) return 1;
  if (any('m') || (run.unkillable && !endings.empty())) return 75;
  const bool enough = executed >= 1 && executed >= run.min_executed;
  return any('i') || !enough || run.no_device ? 3 : 0;
}

ResolvedRun model_with(const std::vector<Ending>& endings, const Circumstances& run,
                       const std::vector<Event>& more = {}) {
  std::vector<PlannedCase> cases;
  std::vector<Event> events = {Event{}};
  for (std::size_t i = 0; i < endings.size(); ++i) {
    const std::string id = "s/" + std::to_string(i);
    cases.push_back(planned(id, endings[i].kind));
    AttemptEnded end = ended(id, {endings[i].outcome, reason_in_words(endings[i].reason)});
    end.termination.unkillable = run.unkillable && i == 0;
    if (run.warn && i == 0) end.marks = {Mark::kWarn};
    events.push_back(end);
    events.push_back(concluded(id, end.verdict));
  }
  RunPlanned plan = plan_of(std::move(cases));
  plan.rules.strict = run.strict;
  plan.rules.min_executed = run.min_executed;
  plan.missing_backend = run.no_device ? "cuda" : "";
  events[0] = std::move(plan);
  events.emplace_back(RunEnded{"2026-01-31T12:00:09Z", 9000});
  events.insert(events.end(), more.begin(), more.end());
  return resolved_of(events);
}

TEST(ExitCode, AllowNoDeviceAcceptsMissingDevice) {
  for (const bool allowed : {false, true}) {
    for (const int min_executed : {0, 1}) {
      RunPlanned plan = plan_of({planned("s/a")});
      plan.missing_backend = "cuda";
      plan.rules.allow_no_device = allowed;
      plan.rules.min_executed = min_executed;
      const ResolvedRun run =
          resolved_of({plan, concluded("s/a", {Outcome::kSkip, Reason::kNoDevice}), RunEnded{"x", 1}});
      EXPECT_EQ(run.exit_code, allowed && min_executed == 0 ? 0 : 3) << allowed << min_executed;
      const bool green = junit_run(run).find(R"(failures="0" errors="0">)") < 300;
      EXPECT_EQ(green, run.exit_code == 0);
    }
  }
}

// Returns whether the root element has no failures and no errors.
bool is_green_in_junit(const ResolvedRun& run) {
  return junit_run(run).find(R"(failures="0" errors="0">)") < 300;
}

TEST(ExitCode, AgreesWithTableAndJunit) {
  std::vector<std::vector<Ending>> runs = {{}};
  for (const Ending& a : kEndings) {
    runs.push_back({a});
    for (const Ending& b : kEndings) runs.push_back({a, b});
  }
  int seen[256] = {};
  for (int bits = 0; bits < 16; ++bits) {
    for (int min_executed = 0; min_executed <= 2; ++min_executed) {
      const Circumstances run{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0,
                              min_executed};
      for (const auto& endings : runs) {
        const int code = model_with(endings, run).exit_code;
        if (min_executed == 1 && !run.strict) {
          ASSERT_EQ(code == 0, is_green_in_junit(model_with(endings, run)));
        }
        ASSERT_EQ(code, oracle(endings, run))
            << ::testing::PrintToString(endings.size()) << " cases, first "
            << (endings.empty() ? ""
                                : to_string(Verdict{endings[0].outcome, reason_in_words(endings[0].reason)}))
            << ", last "
            << (endings.empty()
                    ? ""
                    : to_string(Verdict{endings.back().outcome, reason_in_words(endings.back().reason)}))
            << ", bits " << bits << ", min " << min_executed;
        ++seen[code];
      }
    }
  }
  EXPECT_TRUE(seen[0] > 0 && seen[1] > 0 && seen[3] > 0 && seen[75] > 0);
}

// A run of a pytest suite with two cases, on a machine with devices of `vendors`.
struct SkipRow {
  const char* what;
  std::vector<std::string> vendors;
  int devices;
  bool declined;
  std::vector<Verdict> verdicts;
  std::string kind = "pytest";
  std::string fail_on_skip = "";
  bool incomplete = false;
};

TEST(ExitCode, SkipsWithoutADeviceAreIncomplete) {
  const Verdict pass{Outcome::kPass, {}};
  const Verdict skip{Outcome::kSkip, {Reason::kFramework, "no CUDA"}};
  const Verdict disabled{Outcome::kSkip, Reason::kDisabled};
  const Verdict off{Outcome::kSkip, {Reason::kConfig, "waits (jane, until 2027-03-01)"}};
  for (const SkipRow& row : {
           SkipRow{"no device although there is one", {"cuda"}, 0, false, {pass, skip}, "pytest", "", true},
           SkipRow{"somebody wrote none", {"cuda"}, 0, true, {pass, skip}},
           SkipRow{"there is none", {}, 0, false, {pass, skip}},
           SkipRow{"nothing skipped", {"cuda"}, 0, false, {pass, pass}},
           SkipRow{"disabled by the framework", {"cuda"}, 0, false, {pass, disabled}},
           SkipRow{"some skipped with a device", {"cuda"}, 1, false, {pass, skip}},
           SkipRow{"all skipped with a device", {"cuda"}, 1, false, {skip, skip}, "pytest", "", true},
           SkipRow{"written off, no device", {"cuda"}, 0, false, {pass, off}},
           SkipRow{"a written-off skip is forbidden", {}, 0, false, {pass, off}, "pytest", "config:*", true},
           SkipRow{"Proctor's own state their needs", {"cuda"}, 1, false, {skip, skip}, "proctor"},
           SkipRow{"every skip is forbidden", {}, 0, false, {pass, skip}, "pytest", "*", true},
           SkipRow{"this skip is forbidden", {}, 0, false, {pass, skip}, "pytest", "*CUDA", true},
           SkipRow{"another skip is forbidden", {}, 0, false, {pass, skip}, "pytest", "*torch*"},
       }) {
    SCOPED_TRACE(row.what);
    RunPlanned plan = plan_of({planned("s/a", row.kind), planned("s/b", row.kind)});
    for (PlannedCase& test : plan.cases) test.backend = row.devices > 0 ? "cuda" : "none";
    plan.suites = {PlannedSuite{.name = plan.cases[0].suite,
                                .backend = plan.cases[0].backend,
                                .kind = row.kind,
                                .devices = row.devices,
                                .devices_disabled = row.declined}};
    plan.backends_present = row.vendors;
    plan.rules.fail_on_skip = row.fail_on_skip;
    if (row.devices > 0) plan.devices = {PlannedDevice{"cuda:0", "cuda", "card"}};
    const ResolvedRun run = resolved_of(
        {plan, concluded("s/a", row.verdicts[0]), concluded("s/b", row.verdicts[1]), RunEnded{"x", 1}});
    EXPECT_EQ(!run.open_skips.empty(), row.incomplete);
    EXPECT_TRUE(!row.incomplete || run.exit_code == 3);
    EXPECT_EQ(run.exit_code == 0, is_green_in_junit(run));
  }
}

TEST(ExitCode, ChangedStackOrJournalIsMachineError) {
  for (const WarningCode changed : {WarningCode::kStackChanged, WarningCode::kJournalChanged}) {
    const auto code = [&](Outcome outcome) {
      return resolved_of({plan_of({planned("s/0")}), started("s/0"), ended("s/0", {outcome, ""}),
                          concluded("s/0", {outcome, ""}), Warning{changed, "..."}})
          .exit_code;
    };
    EXPECT_EQ(code(Outcome::kPass), 75) << to_string(changed);
    EXPECT_EQ(code(Outcome::kFail), 1) << "a failure of the code comes first";
  }
}

TEST(ExitCode, TableHasEveryOutcome) {
  for (const Outcome outcome : kAllOutcomes) {
    EXPECT_TRUE(std::any_of(std::begin(kEndings), std::end(kEndings), [outcome](const Ending& e) {
      return e.outcome == outcome;
    })) << to_string(outcome);
  }
}

ResolvedRun run_with_marks(std::size_t flaky, std::size_t of, bool passes, int budget,
                           Mark mark = Mark::kFlaky) {
  std::vector<PlannedCase> cases;
  std::vector<Event> events(1);
  for (std::size_t i = 0; i < of; ++i) {
    const std::string id = "s/" + std::to_string(i);
    cases.push_back(planned(id));
    events.push_back(started(id));
    events.push_back(ended(id, {Outcome::kPass, ""}));
    events.push_back(concluded(id, {Outcome::kPass, ""}, i < flaky ? Marks{mark} : Marks{}));
  }
  RunPlanned plan = plan_of(cases);
  plan.flaky_passes = passes;
  plan.max_flaky_percent = budget;
  events.front() = plan;
  events.emplace_back(RunEnded{"2026-01-31T12:00:09Z", 9000});
  return resolved_of(events);
}

int code_with_marks(std::size_t flaky, std::size_t of, bool passes, int budget, Mark mark = Mark::kFlaky) {
  return run_with_marks(flaky, of, passes, budget, mark).exit_code;
}

TEST(ExitCode, FlakyCaseFailsRunUnlessAllowed) {
  EXPECT_EQ(code_with_marks(1, 100, false, 100), 1);
  EXPECT_EQ(code_with_marks(2, 100, true, 2), 0);
  EXPECT_EQ(code_with_marks(3, 100, true, 2), 1);
  EXPECT_EQ(code_with_marks(1, 4, true, 2), 0) << "2 % of 4 is less than one case, and one is allowed";
  EXPECT_EQ(code_with_marks(2, 4, true, 2), 1);
  EXPECT_EQ(code_with_marks(1, 4, true, 0), 1);
  EXPECT_EQ(code_with_marks(0, 10, false, 0), 0);
}

TEST(ExitCode, SuggestsSmallestSufficientFlakyOption) {
  for (const auto& [count, of, passes] : {std::tuple<std::size_t, std::size_t, bool>{1, 4, false},
                                          {1, 4, true},
                                          {3, 4, false},
                                          {3, 100, true},
                                          {7, 300, true}}) {
    const ResolvedRun run = run_with_marks(count, of, passes, 0);
    const std::string option = run.flaky_cases.option;
    constexpr std::string_view kBefore = "--flaky pass:";
    ASSERT_TRUE(option.starts_with(kBefore) && option.ends_with('%')) << option;
    const int allowed = std::stoi(option.substr(kBefore.size()));
    EXPECT_EQ(code_with_marks(count, of, true, allowed), 0) << option;
    EXPECT_EQ(code_with_marks(count, of, true, allowed - 1), 1) << option;
  }
}

TEST(ExitCode, SuspectDeviceIsMachineError) {
  EXPECT_EQ(code_with_marks(1, 10, false, 0, Mark::kDeviceSuspect), 75);
}

TEST(ExitCode, KilledRunnerLeavesIncompleteRun) {
  EXPECT_EQ(resolved_of({plan_of({planned("s/a")}), started("s/a")}).exit_code, 3);
  EXPECT_EQ(resolved_of({}).exit_code, 3);
}

// This applies in every format, also if the runner was killed after its last case, before the end record.
TEST(ExitCode, RunWithoutEndRecordIsIncomplete) {
  std::vector<Event> good = {plan_of({planned("s/a")}), started("s/a"), ended("s/a", {Outcome::kPass, ""}),
                             concluded("s/a", {Outcome::kPass, ""})};
  ResolvedRun run = resolved_of(good);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.verdict, RunVerdict::kInterrupted);
  EXPECT_FALSE(is_green_in_junit(run));
  EXPECT_THAT(summary_markdown(run), ::testing::Not(::testing::HasSubstr("PASSED")));
  good.emplace_back(RunEnded{"2026-01-31T12:00:01Z", 1000});
  run = resolved_of(good);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.verdict, RunVerdict::kPassed);
  EXPECT_TRUE(is_green_in_junit(run));
}

TEST(ExitCode, ShellExitCodeHasSignal) {
  EXPECT_EQ(model_with({kEndings[0]}, {}).shell_exit_code, 0);
  const std::vector<Event> at_deadline = {StopRequested{0, StopCause::kDeadline, 1}};
  EXPECT_EQ(model_with({kEndings[0]}, {}, at_deadline).shell_exit_code, 0);
  const std::vector<Event> by_signal = {at_deadline[0], StopRequested{15, StopCause::kSignal, 2},
                                        StopRequested{2, StopCause::kSignal, 3}};
  EXPECT_EQ(model_with({kEndings[0]}, {}, by_signal).shell_exit_code, 143);
}

constexpr const char* kCommand = "sh/sh";

RunPlanned exec_plan() {
  RunPlanned plan = plan_of({planned(kCommand, "command")});
  plan.exec = true;
  return plan;
}

struct Row {
  const char* what;
  Verdict verdict;
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  int stop_signal;
  bool forced;
  int code;
  int signal;
};

ResolvedRun model_of_row(const Row& row) {
  AttemptEnded end = ended(kCommand, row.verdict);
  end.exit_code = row.exit_code;
  end.exit_signal = row.exit_signal;
  end.termination.forced = row.forced;
  std::vector<Event> events = {exec_plan(), started(kCommand)};
  if (row.stop_signal != 0) events.push_back(StopRequested{row.stop_signal, StopCause::kSignal, 10});
  events.push_back(end);
  return resolved_of(events);
}

const std::vector<Row> kRows = {
    {"ends well", {Outcome::kPass, ""}, 0, {}, 0, false, 0, 0},
    {"its own code", {Outcome::kFail, {Reason::kExit, 5}}, 5, {}, 0, false, 5, 0},
    {"its own code, like one of ours", {Outcome::kFail, {Reason::kExit, 124}}, 124, {}, 0, false, 124, 0},
    {"its own code, like a signal", {Outcome::kFail, {Reason::kExit, 139}}, 139, {}, 0, false, 139, 0},
    {"its own signal", {Outcome::kCrash, {Reason::kSignal, 11}}, {}, SIGSEGV, 0, false, 0, SIGSEGV},
    {"time limit", {Outcome::kTimeout, ""}, {}, SIGTERM, 0, false, 124, 0},
    {"time limit, then it says 0", {Outcome::kTimeout, ""}, 0, {}, 0, false, 124, 0},
    {"ended well before it was ready", {Outcome::kFail, Reason::kNotReady}, 0, {}, 0, false, 1, 0},
    {"not ready in time", {Outcome::kTimeout, Reason::kNotReady}, {}, SIGTERM, 0, false, 124, 0},
    {"stall limit", {Outcome::kStall, ""}, {}, SIGKILL, 0, true, 124, 0},
    {"--deadline", {Outcome::kNotrun, Reason::kRunLimit}, {}, SIGTERM, 0, false, 124, 0},
    {"stopped", {Outcome::kNotrun, Reason::kInterrupted}, {}, SIGTERM, SIGTERM, false, 0, SIGTERM},
    {"stopped, and it says 9", {Outcome::kNotrun, Reason::kInterrupted}, 9, {}, SIGTERM, false, 9, 0},
    {"a server, ended as told", {Outcome::kPass, ""}, {}, SIGTERM, SIGTERM, false, 0, 0},
    {"a server, with 0 when told", {Outcome::kPass, ""}, 0, {}, SIGINT, false, 0, 0},
    {"stopped by force", {Outcome::kNotrun, Reason::kInterrupted}, {}, SIGKILL, SIGINT, true, 0, SIGINT},
    {"device lost", {Outcome::kDeviceLost, ""}, 1, {}, 0, false, 75, 0},
    {"not found", {Outcome::kError, {Reason::kSpawn, "ENOENT"}}, {}, {}, 0, false, 127, 0},
    {"not executable", {Outcome::kError, {Reason::kSpawn, "EACCES"}}, {}, {}, 0, false, 126, 0},
    {"no program", {Outcome::kError, {Reason::kSpawn, "ENOEXEC"}}, {}, {}, 0, false, 126, 0},
    {"no process", {Outcome::kError, {Reason::kSpawn, "EAGAIN"}}, {}, {}, 0, false, 75, 0},
    {"no memory", {Outcome::kError, {Reason::kSpawn, "ENOMEM"}}, {}, {}, 0, false, 75, 0},
    {"guard lost", {Outcome::kError, Reason::kGuardLost}, {}, {}, 0, false, 125, 0},
    {"no end", {Outcome::kError, Reason::kNoExitStatus}, {}, {}, 0, false, 125, 0},
};

TEST(ExecEnd, AgreesWithTheTable) {
  for (const Row& row : kRows) {
    const ResolvedRun run = model_of_row(row);
    const ExecEnd end = run.exec_end;
    EXPECT_EQ(end.code, row.code) << row.what;
    EXPECT_EQ(end.signal, row.signal) << row.what;
    EXPECT_EQ(run.ending_signal, row.signal) << row.what;
    EXPECT_EQ(run.shell_exit_code, row.signal != 0 ? 128 + row.signal : row.code) << row.what;
  }
}

TEST(ExecEnd, ForcedEndIsNotOwnEnd) {
  for (const Row& row : kRows) {
    const bool own = (row.verdict.outcome == Outcome::kPass || row.verdict.outcome == Outcome::kFail) &&
                     row.verdict.reason != Reason::kNotReady;  // in this case Proctor sets the code
    EXPECT_EQ(model_of_row(row).exec_end.is_own, own) << row.what;
  }
}

TEST(ExecEnd, UnkillableCommandIsMachineError) {
  AttemptEnded end = ended(kCommand, {Outcome::kTimeout, ""});
  end.termination.unkillable = true;
  EXPECT_EQ(resolved_of({exec_plan(), started(kCommand), end}).shell_exit_code, 75);
}

TEST(ExecEnd, LostOutputIsFailure) {
  const Warning lost{WarningCode::kOutputNotWritten, "No space left on device"};
  AttemptEnded end = ended(kCommand, {Outcome::kPass, ""});
  end.exit_code = 0;
  EXPECT_EQ(resolved_of({exec_plan(), started(kCommand), lost, end}).shell_exit_code, 125);
  end.exit_code = 5;
  EXPECT_EQ(resolved_of({exec_plan(), started(kCommand), lost, end}).shell_exit_code, 5);
}

TEST(ExecEnd, ChangedStackOrJournalIsFailure) {
  for (const WarningCode code : {WarningCode::kStackChanged, WarningCode::kJournalChanged}) {
    const Warning changed{code, "kmd.nvidia: 580.65.06, then 580.95.05"};
    AttemptEnded end = ended(kCommand, {Outcome::kPass, ""});
    end.exit_code = 0;
    EXPECT_EQ(resolved_of({exec_plan(), started(kCommand), end, changed}).shell_exit_code, 75);
    end.exit_code = 5;
    EXPECT_EQ(resolved_of({exec_plan(), started(kCommand), end, changed}).shell_exit_code, 5);
  }
}

TEST(ExecEnd, CommandWithoutEndHasErrorCode) {
  EXPECT_EQ(resolved_of({exec_plan()}).shell_exit_code, 75) << "no device, never started";
  EXPECT_EQ(resolved_of({exec_plan(), started(kCommand)}).shell_exit_code, 125) << "the runner was killed";
  EXPECT_EQ(resolved_of({exec_plan(), StopRequested{SIGHUP, StopCause::kSignal, 1}}).shell_exit_code, 129);
}

}  // namespace

}  // namespace proctor
