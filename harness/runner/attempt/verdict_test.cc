#include "harness/runner/attempt/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>

#include "harness/frameworks/all_kinds.h"
#include "harness/frameworks/command.h"
#include "harness/frameworks/gtest.h"
#include "harness/frameworks/proctor.h"
#include "harness/frameworks/pytest.h"

namespace proctor {
namespace {

constexpr const char* kStartLine = R"({"v":1,"case":"G.N","event":"start","t_ns":1})";
constexpr const char* kFailEvent =
    R"({"v":1,"case":"G.N","event":"fail","message":"m","reason":"driver_crash:11"})";
constexpr const char* kPlainFailEvent = R"({"v":1,"case":"G.N","event":"fail","message":"m"})";
constexpr const char* kSkipEvent = R"({"v":1,"case":"G.N","event":"skip","reason":"needs:devices>=2"})";
constexpr const char* kEndPass = R"({"v":1,"case":"G.N","event":"end","result":"pass"})";
constexpr const char* kEndFail = R"({"v":1,"case":"G.N","event":"end","result":"fail"})";
constexpr const char* kEndSkip = R"({"v":1,"case":"G.N","event":"end","result":"skip"})";
constexpr const char* kEndError =
    R"({"v":1,"case":"G.N","event":"end","result":"error","reason":"mask_mismatch"})";

ChildReport said(const std::vector<std::string>& lines) {
  ChildReport report("G.N");
  for (const auto& line : lines) report.add_line(line);
  return report;
}

// The end of the process overrides its report: the verdict is the same for every kind, even with a perfect result.
TEST(Verdict, EndCausePrecedesChildResult) {
  const struct {
    EndCause cause;
    const char* verdict;
  } rows[] = {
      {EndCause::kTimeout, "timeout"},
      {EndCause::kStall, "stall"},
      {EndCause::kStopped, "notrun(interrupted)"},
      {EndCause::kSpawnFailed, "error(spawn:ENOENT)"},
      {EndCause::kGuardLost, "error(guard_lost)"},
  };
  for (const auto kind : all_kinds()) {
    for (const auto& row : rows) {
      AttemptEvidence evidence{.kind = kind, .cause = row.cause};
      evidence.exit_code = 0;
      evidence.spawn_error = SpawnError{"exec", ENOENT};
      evidence.child = said({kStartLine, kEndPass});
      EXPECT_EQ(to_string(judge(evidence)), row.verdict) << kind->name();
    }
  }
}

TEST(Verdict, ForbiddenLeakFailsGoodOutcomes) {
  for (const auto& [code, verdict] :
       std::map<int, std::string>{{0, "fail(leaky)"}, {5, "fail(exit:5)"}, {77, "fail(leaky)"}}) {
    EXPECT_EQ(to_string(judge({.kind = {&command_kind(), 77}, .exit_code = code, .forbidden_leak = true})),
              verdict);
  }
  EXPECT_EQ(to_string(judge({.cause = EndCause::kTimeout, .forbidden_leak = true})), "timeout");
}

TEST(Verdict, ReportsUnreadyServer) {
  AttemptEvidence evidence{.kind = {&command_kind(), 77}, .not_ready = true};
  for (const auto& [code, verdict] :
       std::map<int, std::string>{{0, "fail(not_ready)"}, {5, "fail(exit:5)"}, {77, "skip(exit:77)"}}) {
    evidence.exit_code = code;
    EXPECT_EQ(to_string(judge(evidence)), verdict);
  }
  evidence.cause = EndCause::kTimeout;
  EXPECT_EQ(to_string(judge(evidence)), "timeout(not_ready)");
  evidence.cause = EndCause::kStall;
  EXPECT_EQ(to_string(judge(evidence)), "stall");
  evidence.cause = EndCause::kStopped;
  EXPECT_EQ(to_string(judge(evidence)), "notrun(interrupted)");
}

TEST(Verdict, StarvedTimeoutIsMachineProblem) {
  AttemptEvidence evidence{.kind = &pytest_kind(), .cause = EndCause::kTimeout, .starved = true};
  EXPECT_EQ(to_string(judge(evidence)), "timeout(starved)");
  EXPECT_TRUE(is_machine_outcome(judge(evidence)));
  EXPECT_EQ(failure_owner(judge(evidence)), FailureOwner::kMachine);
  evidence.not_ready = true;
  EXPECT_EQ(to_string(judge(evidence)), "timeout(starved)");
  evidence.cause = EndCause::kStall;
  EXPECT_EQ(to_string(judge(evidence)), "stall(starved)");
  evidence.after_end = true;
  evidence.child = said({kStartLine, kEndPass});
  EXPECT_EQ(to_string(judge(evidence)), "stall(starved)");
  evidence.child = said({kStartLine, kEndFail});
  EXPECT_EQ(to_string(judge(evidence)), "fail") << "it had its result";
  evidence = {.cause = EndCause::kExited, .exit_code = 1, .starved = true};
  EXPECT_EQ(to_string(judge(evidence)), "fail(exit:1)");
}

TEST(Verdict, TimeoutBeforeStartIsStartupTimeout) {
  AttemptEvidence evidence{.cause = EndCause::kTimeout, .starting = true};
  EXPECT_EQ(to_string(judge(evidence)), "timeout(startup)");
  evidence.cause = EndCause::kStall;
  EXPECT_EQ(to_string(judge(evidence)), "stall");
}

TEST(Verdict, ReportsHangAfterLastCase) {
  AttemptEvidence evidence{.kind = &pytest_kind(), .cause = EndCause::kTimeout};
  evidence.after_end = true;
  evidence.child = said({kStartLine, kEndPass});
  EXPECT_EQ(to_string(judge(evidence)), "timeout(shutdown)");
  evidence.child = said({kStartLine, kEndFail});
  EXPECT_EQ(to_string(judge(evidence)), "fail");
  evidence.cause = EndCause::kStall;
  EXPECT_EQ(to_string(judge(evidence)), "fail");
  evidence.child = said({kStartLine, kEndSkip});
  EXPECT_EQ(to_string(judge(evidence)), "stall(shutdown)");
  evidence.cause = EndCause::kStopped;
  EXPECT_EQ(to_string(judge(evidence)), "notrun(interrupted)");
}

TEST(Verdict, StoppedCaseHasReasonOfRunner) {
  AttemptEvidence evidence{.cause = EndCause::kStopped};
  evidence.stop_reason = Reason::kRunLimit;
  EXPECT_EQ(to_string(judge(evidence)), "notrun(run_limit)");
}

TEST(Verdict, SpawnErrorNamesErrno) {
  AttemptEvidence evidence{.cause = EndCause::kSpawnFailed};
  evidence.spawn_error = SpawnError{"clone", EAGAIN};
  EXPECT_EQ(to_string(judge(evidence)), "error(spawn:EAGAIN)");
  evidence.spawn_error = SpawnError{"exec", 99999};
  EXPECT_EQ(to_string(judge(evidence)), "error(spawn:99999)");
}

TEST(Verdict, SignalIsCrashForEveryKind) {
  for (const auto kind : all_kinds()) {
    for (const int signal : {1, 6, 9, 11, 15}) {
      AttemptEvidence evidence{.kind = kind};
      evidence.exit_signal = signal;
      evidence.child = said({kStartLine, kEndPass});
      EXPECT_EQ(to_string(judge(evidence)), "crash(signal:" + std::to_string(signal) + ")") << kind->name();
    }
  }
}

TEST(Verdict, JudgesCommandByExitCode) {
  for (const int skip_code : {0, 1, 77, 255}) {
    for (int code = 0; code < 256; ++code) {
      AttemptEvidence evidence{.kind = {&command_kind(), skip_code}};
      evidence.exit_code = code;
      const std::string number = std::to_string(code);
      EXPECT_EQ(to_string(judge(evidence)), code == 0           ? "pass"
                                            : code == skip_code ? "skip(exit:" + number + ")"
                                                                : "fail(exit:" + number + ")");
    }
  }
}

// `exec --ready-regex`: another process stops the server, which is its regular end.
TEST(Verdict, JudgesServerStoppedBySignal) {
  const struct {
    int reported;
    std::optional<int> code, signal;
    const char* verdict;
  } rows[] = {
      {15, {}, 15, "pass"},
      {2, {}, 2, "pass"},
      {15, 0, {}, "pass"},
      {15, 1, {}, "notrun(interrupted)"},
      {15, {}, 9, "notrun(interrupted)"},
      {15, {}, 11, "crash(signal:11)"},
      {0, 0, {}, "notrun(interrupted)"},
      {0, {}, 15, "notrun(interrupted)"},
  };
  for (const auto& row : rows) {
    AttemptEvidence evidence{.kind = &command_kind(), .cause = EndCause::kStopped};
    evidence.exit_code = row.code;
    evidence.exit_signal = row.signal;
    evidence.reported_to_end = row.reported;
    EXPECT_EQ(to_string(judge(evidence)), row.verdict)
        << row.reported << ' ' << row.code.value_or(-1) << ' ' << row.signal.value_or(-1);
  }
}

TEST(Verdict, JudgesGtestResults) {
  const struct {
    int code;
    std::vector<std::string> lines;  // from its result file
    const char* verdict;
  } rows[] = {
      {0, {}, "error(no_result)"},        {0, {kEndPass}, "pass"},
      {0, {kEndSkip}, "skip(framework)"}, {0, {kEndFail}, "error(result_mismatch)"},
      {1, {}, "error(no_result)"},        {1, {kEndPass}, "fail(exit:1)"},
      {1, {kEndSkip}, "fail(exit:1)"},    {1, {kEndFail}, "fail"},
      {23, {kEndPass}, "fail(exit:23)"},  {3, {}, "error(no_result)"},
  };
  for (const auto& row : rows) {
    AttemptEvidence evidence{.kind = &gtest_kind()};
    evidence.exit_code = row.code;
    evidence.child = said(row.lines);
    EXPECT_EQ(to_string(judge(evidence)), row.verdict) << row.code;
  }
}

TEST(Verdict, JudgesProctorResults) {
  const struct {
    int code;
    std::vector<std::string> lines;
    const char* verdict;
  } rows[] = {
      {0, {}, "error(no_result)"},
      {0, {kStartLine}, "error(no_result)"},
      {1, {kStartLine}, "error(no_result)"},
      {1, {kStartLine, kFailEvent}, "error(no_result)"},
      {0, {kStartLine, kSkipEvent}, "error(no_result)"},
      {0, {kStartLine, kEndPass}, "pass"},
      {0, {kEndPass}, "pass"},
      {1, {kStartLine, kEndPass}, "error(result_mismatch)"},
      {77, {kStartLine, kEndPass}, "error(result_mismatch)"},
      {0, {kStartLine, kFailEvent, kEndPass}, "error(result_mismatch)"},
      {1, {kStartLine, kFailEvent, kEndFail}, "fail(driver_crash:11)"},
      {1, {kStartLine, kEndFail}, "fail"},
      {255, {kStartLine, kEndFail}, "fail"},
      {0, {kStartLine, kEndFail}, "error(result_mismatch)"},
      {0, {kStartLine, kSkipEvent, kEndSkip}, "skip(needs:devices>=2)"},
      {77, {kStartLine, kSkipEvent, kEndSkip}, "skip(needs:devices>=2)"},
      {1, {kStartLine, kSkipEvent, kEndSkip}, "error(result_mismatch)"},
      {0, {kStartLine, kFailEvent, kSkipEvent, kEndSkip}, "error(result_mismatch)"},
      {0, {kStartLine, kEndSkip}, "error(skip_without_reason)"},
      {0, {kStartLine, kEndError}, "error(mask_mismatch)"},
      {1, {kStartLine, kEndError}, "error(mask_mismatch)"},
      {0, {"PASS"}, "error(protocol)"},
      {0, {kStartLine, "garbage", kEndPass}, "error(protocol)"},
      {0, {kStartLine, kEndPass, kEndPass}, "error(protocol)"},
      {0, {kStartLine, R"({"v":1,"case":"Other.N","event":"end","result":"pass"})"}, "error(protocol)"},
      {0, {kStartLine, R"({"v":1,"case":"G.N","event":"end","result":"great"})"}, "error(protocol)"},
  };
  for (const auto& row : rows) {
    AttemptEvidence evidence{.kind = &proctor_kind()};
    evidence.exit_code = row.code;
    evidence.child = said(row.lines);
    EXPECT_EQ(to_string(judge(evidence)), row.verdict)
        << row.code << ' ' << testing::PrintToString(row.lines);
  }
}

constexpr auto kEndXfail = R"({"v":1,"case":"G.N","event":"end","result":"xfail","reason":"known"})";
constexpr auto kEndXpass = R"({"v":1,"case":"G.N","event":"end","result":"xpass"})";

TEST(Verdict, AcceptsProctorExitCodeOfEarlierFailure) {
  for (const auto& [code, line, verdict] :
       std::vector<std::tuple<int, std::string, std::string>>{{1, kEndPass, "pass"},
                                                              {1, kEndFail, "fail"},
                                                              {1, kEndSkip, "error(skip_without_reason)"},
                                                              {2, kEndPass, "error(result_mismatch)"},
                                                              {0, kEndFail, "error(result_mismatch)"}}) {
    AttemptEvidence evidence{.kind = &proctor_kind()};
    evidence.exit_code = code;
    evidence.child = said({kStartLine, line});
    evidence.another_was_bad = true;
    EXPECT_EQ(to_string(judge(evidence)), verdict) << code << line;
  }
}

TEST(Verdict, JudgesPytestResults) {
  const struct {
    int code;
    std::vector<std::string> lines;
    bool another_was_bad;
    const char* verdict;
  } rows[] = {
      {0, {}, false, "error(no_result)"},
      {4, {}, false, "error(no_result)"},
      {0, {kStartLine}, false, "error(no_result)"},
      {0, {"garbage", kStartLine, kEndPass}, false, "error(protocol)"},
      {0, {kStartLine, kEndPass}, false, "pass"},
      {1, {kStartLine, kEndPass}, false, "error(result_mismatch)"},
      {1, {kStartLine, kEndPass}, true, "pass"},
      {2, {kStartLine, kEndPass}, true, "error(result_mismatch)"},
      {5, {kStartLine, kEndPass}, false, "error(result_mismatch)"},
      {1, {kStartLine, kFailEvent, kEndFail}, false, "fail(driver_crash:11)"},
      {0, {kStartLine, kFailEvent, kEndFail}, true, "error(result_mismatch)"},
      {0, {kStartLine, kSkipEvent, kEndSkip}, false, "skip(needs:devices>=2)"},
      {5, {kStartLine, kSkipEvent, kEndSkip}, false, "skip(needs:devices>=2)"},
      {1, {kStartLine, kSkipEvent, kEndSkip}, false, "error(result_mismatch)"},
      {0, {kStartLine, kFailEvent, kEndXfail}, false, "xfail(known)"},
      {1, {kStartLine, kEndXfail}, false, "error(result_mismatch)"},
      {0, {kStartLine, kEndXpass}, false, "xpass"},
      {1, {kStartLine, kEndXpass}, true, "xpass"},
      {1, {kStartLine, kEndError}, false, "error(mask_mismatch)"},
  };
  for (const auto& row : rows) {
    AttemptEvidence evidence{.kind = &pytest_kind()};
    evidence.exit_code = row.code;
    evidence.child = said(row.lines);
    evidence.another_was_bad = row.another_was_bad;
    EXPECT_EQ(to_string(judge(evidence)), row.verdict)
        << row.code << ' ' << testing::PrintToString(row.lines);
  }
}

TEST(Verdict, ContinuingProcessNeedsNoExitCode) {
  for (const auto& [line, verdict] : std::map<std::string, std::string>{
           {kEndPass, "pass"}, {kEndFail, "fail"}, {kEndXpass, "xpass"}, {kStartLine, "error(no_result)"}}) {
    AttemptEvidence evidence{.kind = &pytest_kind(), .went_on = true};
    evidence.child = said({line});
    EXPECT_EQ(to_string(judge(evidence)), verdict);
  }
}

TEST(Verdict, JudgesGtestWithListener) {
  const struct {
    std::optional<int> code;  // none: the process began another case
    std::vector<std::string> lines;
    bool another_was_bad;
    const char* verdict;
  } rows[] = {
      {std::nullopt, {kStartLine, kEndPass}, false, "pass"},
      {std::nullopt, {kStartLine, kPlainFailEvent, kEndFail}, false, "fail"},
      {std::nullopt, {kStartLine, kEndSkip}, true, "skip(framework)"},
      {std::nullopt, {kStartLine}, false, "error(no_result)"},
      {0, {kStartLine, kEndPass}, false, "pass"},
      {0, {kStartLine, kEndSkip}, false, "skip(framework)"},
      {0, {kStartLine, kPlainFailEvent, kEndFail}, true, "error(result_mismatch)"},
      {0, {}, false, "error(no_result)"},
      {3, {kStartLine}, false, "error(no_result)"},
      {1, {kStartLine, kPlainFailEvent, kEndFail}, false, "fail"},
      {1, {kStartLine, kEndPass}, true, "pass"},
      {1, {kStartLine, kEndSkip}, true, "skip(framework)"},
      {1, {kStartLine, kEndPass}, false, "fail(exit:1)"},
      {1, {kStartLine, kEndSkip}, false, "fail(exit:1)"},
      {23, {kStartLine, kEndPass}, true, "fail(exit:23)"},
      {0, {kStartLine, kEndPass, "garbage"}, false, "error(protocol)"},
      {0, {kStartLine, kEndXfail}, false, "error(protocol)"},
  };
  for (const auto& row : rows) {
    AttemptEvidence evidence{.kind = &gtest_kind()};
    evidence.went_on = !row.code;
    evidence.exit_code = row.code;
    evidence.child = said(row.lines);
    evidence.another_was_bad = row.another_was_bad;
    EXPECT_EQ(to_string(judge(evidence)), row.verdict)
        << row.code.value_or(-1) << ' ' << testing::PrintToString(row.lines);
  }
}

TEST(Verdict, OnlyPytestJudgesExpectations) {
  for (const auto* line : {kEndXfail, kEndXpass}) {
    AttemptEvidence evidence{.kind = &proctor_kind()};
    evidence.exit_code = 0;
    evidence.child = said({kStartLine, line});
    EXPECT_EQ(to_string(judge(evidence)), "error(protocol)") << line;
  }
}

TEST(Verdict, ExitWithoutAnyStatusIsAnError) { EXPECT_EQ(to_string(judge({})), "error(no_exit_status)"); }

}  // namespace
}  // namespace proctor
