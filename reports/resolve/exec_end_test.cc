#include <gtest/gtest.h>

#include <csignal>
#include <vector>

#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;

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
    {"--deadline", {Outcome::kNotrun, Reason::kBudget}, {}, SIGTERM, 0, false, 124, 0},
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

TEST(ExecEnd, NothingThatWasEndedByUsEndedByItself) {
  for (const Row& row : kRows) {
    const bool own = (row.verdict.outcome == Outcome::kPass || row.verdict.outcome == Outcome::kFail) &&
                     row.verdict.reason != Reason::kNotReady;  // there the code is ours
    EXPECT_EQ(model_of_row(row).exec_end.is_own, own) << row.what;
  }
}

TEST(ExecEnd, WhatCannotBeKilledIsTheMachines) {
  AttemptEnded end = ended(kCommand, {Outcome::kTimeout, ""});
  end.termination.unreapable = true;
  EXPECT_EQ(resolved_of({exec_plan(), started(kCommand), end}).shell_exit_code, 75);
}

TEST(ExecEnd, OutputThatDidNotArriveIsNoSuccess) {
  const Warning lost{WarningCode::kOutputNotPassed, "No space left on device"};
  AttemptEnded end = ended(kCommand, {Outcome::kPass, ""});
  end.exit_code = 0;
  EXPECT_EQ(resolved_of({exec_plan(), started(kCommand), lost, end}).shell_exit_code, 125);
  end.exit_code = 5;
  EXPECT_EQ(resolved_of({exec_plan(), started(kCommand), lost, end}).shell_exit_code, 5);
}

TEST(ExecEnd, AStackOrAJournalThatChangedIsNoSuccess) {
  for (const WarningCode code : {WarningCode::kStackChanged, WarningCode::kJournalChanged}) {
    const Warning changed{code, "kmd.nvidia: 580.65.06, then 580.95.05"};
    AttemptEnded end = ended(kCommand, {Outcome::kPass, ""});
    end.exit_code = 0;
    EXPECT_EQ(resolved_of({exec_plan(), started(kCommand), end, changed}).shell_exit_code, 75);
    end.exit_code = 5;
    EXPECT_EQ(resolved_of({exec_plan(), started(kCommand), end, changed}).shell_exit_code, 5);
  }
}

TEST(ExecEnd, WithoutAnEnd) {
  EXPECT_EQ(resolved_of({exec_plan()}).shell_exit_code, 75) << "no device, never started";
  EXPECT_EQ(resolved_of({exec_plan(), started(kCommand)}).shell_exit_code, 125) << "the runner was killed";
  EXPECT_EQ(resolved_of({exec_plan(), StopRequested{SIGHUP, StopCause::kSignal, 1}}).shell_exit_code, 129);
}

}  // namespace
}  // namespace proctor
