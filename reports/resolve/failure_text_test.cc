#include "reports/resolve/failure_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "reports/resolve/causes.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

TEST(ExplainFailure, ExecWithoutDeviceIsMachineProblem) {
  RunPlanned plan = plan_of({planned("pytest/pytest", "command")});
  const CaseEnded skipped = concluded("pytest/pytest", {Outcome::kSkip, Reason::kNoDevice});
  const ResolvedRun suite = resolved_of({plan, skipped});
  EXPECT_THAT(summarize_failure(suite.cases[0]), HasSubstr("owner:         none"));
  EXPECT_EQ(evidence_location(suite.cases[0], "out/1"), "out/1/journal.jsonl");
  plan.exec = true;
  const ResolvedRun exec = resolved_of({plan, skipped});
  EXPECT_THAT(summarize_failure(exec.cases[0]), HasSubstr("owner:         machine"));
  EXPECT_THAT(evidence_location(exec.cases[0]), HasSubstr("proctor doctor"));
}

std::string headline_of(const AttemptEnded& end) {
  const ResolvedRun run = resolved_of({plan_of({planned(end.case_id)}), started(end.case_id), end});
  return run.cases[0].headline;
}

TEST(Headline, DescribesEachOutcome) {
  const auto of = [](Outcome outcome, const std::string& reason) {
    return headline_of(ended("s/a", {outcome, reason_in_words(reason)}));
  };
  EXPECT_EQ(of(Outcome::kFail, "exit:3"), "exited with code 3");
  EXPECT_EQ(of(Outcome::kFail, "driver_crash:11"), "the driver crashed its process with signal 11 (SIGSEGV)");
  EXPECT_EQ(of(Outcome::kTimeout, ""), "still running after 1 min 00 s, its time limit");
  EXPECT_EQ(of(Outcome::kTimeout, "not_ready"),
            "not ready in time: no line of its output matched --ready-regex");
  EXPECT_EQ(of(Outcome::kFail, "not_ready"), "ended before a line of its output matched --ready-regex");
  EXPECT_EQ(of(Outcome::kCrash, "signal:6"), "killed by signal 6 (SIGABRT)");
  EXPECT_EQ(of(Outcome::kCrash, "signal:250"), "killed by signal 250");
  EXPECT_EQ(of(Outcome::kError, "spawn:ENOENT"), "could not be started: ENOENT");
  EXPECT_EQ(of(Outcome::kError, "spawn:ENOEXEC"),
            "could not be started: it is neither ELF for this machine nor a script with `#!`");
  EXPECT_EQ(of(Outcome::kNotrun, "run_limit"),
            "not run to its end before --deadline, or before the journal was full");
  EXPECT_THAT(of(Outcome::kXfail, "signal:11"), testing::EndsWith(": signal:11"));
  EXPECT_THAT(of(Outcome::kSkip, "not_ready"), testing::EndsWith(": not_ready"));
  EXPECT_THAT(of(Outcome::kXpass, "shutdown"), HasSubstr("passed although"));
  AttemptEnded failed = ended("s/a", {Outcome::kFail, ""});
  failed.failures = {{}, {"M-1", "Expected equality:\n  1\n  2", "", 0, "", "", ""}};
  EXPECT_EQ(headline_of(failed), "Expected equality: 1 2");
  AttemptEnded starved = ended("s/a", {Outcome::kTimeout, Reason::kStarved});
  starved.failures = {{}};
  starved.failures.back().message = "It waited for a CPU for 61 of its 90 s and got 12 s.";
  EXPECT_THAT(headline_of(starved),
              testing::EndsWith("its time limit; It waited for a CPU for 61 of its 90 s and got 12 s."));
  AttemptEnded crashed = ended("s/a", {Outcome::kCrash, {Reason::kSignal, 11}});
  crashed.last_step = "touch 3/8";
  EXPECT_EQ(headline_of(crashed), "killed by signal 11 (SIGSEGV); last step \"touch 3/8\"");
}

TEST(ExplainFailure, PrintsDebuggerCommandForCore) {
  AttemptEnded crashed = ended("s/a", {Outcome::kCrash, {Reason::kSignal, 11}});
  crashed.evidence = {
      "evidence/s/a.1.txt", {"crashed in read at r.c:2"}, 5, {"evidence/s/a.1.core", "/opt/a b", 1 << 20}};
  const ResolvedRun run = resolved_of({plan_of({planned("s/a")}), started("s/a"), crashed});
  EXPECT_THAT(summarize_failure(run.cases[0], "out"),
              HasSubstr("evidence:      crashed in read at r.c:2\ncore:          gdb '/opt/a b' "
                        "out/evidence/s/a.1.core (1.0 MiB)\n"));
}

TEST(ExplainFailure, PointsToCommandThatDidNotStart) {
  const AttemptEnded missing = ended("s/a", {Outcome::kError, {Reason::kSpawn, "ENOENT"}});
  const ResolvedRun run = resolved_of({plan_of({planned("s/a")}), started("s/a"), missing});
  EXPECT_EQ(evidence_location(run.cases[0], "out"), "the command of the suite in its config, and PATH");
}

TEST(Leak, NamesLeakedProcessesAndPossibleCases) {
  AttemptEnded leaky = ended("s/a", {Outcome::kFail, Reason::kLeaky});
  leaky.termination.leaked_processes = {{7, "sleep 600"}, {8, "x"}};
  EXPECT_EQ(leak_text(leaky.termination), "process 7 (sleep 600), process 8 (x)");
  EXPECT_EQ(
      headline_of(leaky),
      "passed, but it left something behind, and leaks = \"fail\": process 7 (sleep 600), process 8 (x)");
  leaky.termination.leaked_by = {"s/a", "s/b"};
  EXPECT_THAT(leak_text(leaky.termination), HasSubstr("; by one of the 2 cases of its process: s/a, s/b"));
  leaky.termination.leaked_by.resize(11, "s/c");
  EXPECT_THAT(leak_text(leaky.termination), HasSubstr("11 cases of its process: s/a, s/b, s/c, s/c"));
  EXPECT_THAT(leak_text(leaky.termination), ::testing::EndsWith(", …"));
  leaky.termination.signal_sent = 15;
  EXPECT_EQ(leak_text(leaky.termination), "") << "it was ended, and left nothing";
}

TEST(Headline, DescribesReasonForNotRun) {
  std::vector<Event> events = {plan_of({planned("s/a"), planned("s/b")}), started("s/a")};
  ResolvedRun run = resolved_of(events);
  EXPECT_EQ(run.cases[0].headline, "cut short: the runner was killed");
  EXPECT_EQ(run.cases[1].headline, "not run: the runner was killed");
  events.emplace_back(StopRequested{2, StopCause::kSignal, 5});
  run = resolved_of(events);
  EXPECT_EQ(run.cases[0].headline, "cut short: the run was stopped by signal 2 (SIGINT)");

  RunPlanned exec = plan_of({planned("s/a")});
  exec.exec = true;
  AttemptEnded reported = ended("s/a", {Outcome::kNotrun, Reason::kInterrupted});
  reported.exit_code = 3;
  run = resolved_of({exec, started("s/a"), StopRequested{15, StopCause::kSignal, 5}, reported});
  EXPECT_EQ(run.cases[0].headline,
            "cut short: the run was stopped by signal 15 (SIGTERM); it then exited with code 3");
  reported.exit_code.reset();
  reported.termination.forced = true;
  run = resolved_of({exec, started("s/a"), StopRequested{15, StopCause::kSignal, 5}, reported});
  EXPECT_EQ(run.cases[0].headline,
            "cut short: the run was stopped by signal 15 (SIGTERM); it did not end, and was killed");
}

TEST(Explain, PrintsProblemOutcomeRerunAndPlace) {
  AttemptEnded failed = ended("memory.xpu/A.B", {Outcome::kFail, ""});
  failed.failures = {{"M-1", "read back 0x00", "suites/memory/copy.cc", 112, "0xA5", "0x00", ""}};
  failed.rule = "M-1";
  failed.source = "Level Zero 1.13, 5.2";
  const ResolvedRun run =
      resolved_of({plan_of({planned("memory.xpu/A.B")}), started("memory.xpu/A.B"), failed});
  EXPECT_EQ(
      summarize_failure(run.cases[0]),
      "owner:         code\n"
      "what:          fail: read back 0x00\n"
      "on:            xpu:0000:03:00.0 (Card)\n"
      "rerun:         proctor run memory --backend xpu --devices xpu:0000:03:00.0 --case memory.xpu/A.B\n"
      "where to look: suites/memory/copy.cc:112 · logs/0123456789abcdef.1.log · rule M-1 · Level Zero "
      "1.13, 5.2\n");
}

// The final pass has no message, so the failed attempt is shown.
TEST(Explain, FlakyCaseShowsFailedAttempt) {
  AttemptEnded bad = ended("s/a", {Outcome::kFail, {Reason::kExit, 3}});
  bad.failures = {{"", "the card was not there", "a.py", 7, "", "", ""}};
  AttemptStarted again = started("s/a");
  again.attempt = 2;
  again.log = "logs/s/a.2.log";
  AttemptEnded good = ended("s/a", {Outcome::kPass, ""});
  good.attempt = 2;
  const ResolvedRun run = resolved_of({plan_of({planned("s/a")}), started("s/a"), bad, again, good,
                                       concluded("s/a", {Outcome::kPass, ""}, {Mark::kFlaky})});
  EXPECT_TRUE(run.cases[0].flaky);
  const std::string text = summarize_failure(run.cases[0], "out/1");
  EXPECT_THAT(text, ::testing::StartsWith(
                        "owner:         code\nwhat:          fail · exit code 3 at attempt 1, pass at the "
                        "last: the card was not there\n"));
  EXPECT_THAT(text, HasSubstr("where to look: a.py:7 · out/1/logs/0123456789abcdef.1.log\n"));
}

// The framework repeated the case after a failure.
TEST(Explain, FlakyAttemptShowsFailedTry) {
  AttemptEnded good = ended("s/a", {Outcome::kPass, ""});
  good.failures = {{"", "the card was not there", "a.py", 7, "", "", ""}};
  good.marks = {Mark::kFlaky};
  const ResolvedRun run = resolved_of({plan_of({planned("s/a")}), started("s/a"), good,
                                       concluded("s/a", {Outcome::kPass, ""}, {Mark::kFlaky})});
  const std::string text = summarize_failure(run.cases[0], "out/1");
  EXPECT_THAT(text,
              ::testing::StartsWith("owner:         code\nwhat:          pass only when its framework ran "
                                    "it again: the card was not there\n"));
  EXPECT_THAT(text, HasSubstr("where to look: a.py:7 · out/1/logs/0123456789abcdef.1.log\n"));
}

TEST(Explain, NamesDeviceModel) {
  PlannedDevice device{.id = "cuda:GPU-1",
                       .backend = "cuda",
                       .name = "NVIDIA H100",
                       .pci = "0000:4d:00.0",
                       .pci_id = "10de:2331",
                       .capability = "9.0"};
  EXPECT_EQ(model_text(device), "NVIDIA H100 · 0000:4d:00.0 · 10de:2331 · 9.0");
  EXPECT_EQ(model_text({.id = "xpu-sim:0", .backend = "xpu", .name = ""}), "");
}

TEST(Explain, ShowsEvidenceOfTimeout) {
  AttemptEnded late = ended("memory.xpu/A.B", {Outcome::kTimeout, ""});
  late.evidence = {"evidence/0123456789abcdef.1.txt",
                   {"python3 (pid 9): state D", "Python: step at a.py:3"},
                   812,
                   {},
                   StackFrame{"step", "/src/a.py:3"}};
  const ResolvedRun run =
      resolved_of({plan_of({planned("memory.xpu/A.B")}), started("memory.xpu/A.B"), late});
  EXPECT_EQ(
      summarize_failure(run.cases[0]),
      "owner:         code\n"
      "what:          timeout: still running after 1 min 00 s, its time limit\n"
      "on:            xpu:0000:03:00.0 (Card)\n"
      "evidence:      python3 (pid 9): state D\n"
      "               Python: step at a.py:3\n"
      "rerun:         proctor run memory --backend xpu --devices xpu:0000:03:00.0 --case memory.xpu/A.B\n"
      "where to look: step at /src/a.py:3 · logs/0123456789abcdef.1.log · evidence/0123456789abcdef.1.txt\n");
}

TEST(Explain, PrintsDiagnosisAndNextStep) {
  AttemptEnded lost = ended("memory.xpu/A.B", {Outcome::kDeviceLost, {Reason::kDevice, "xpu:0000:03:00.0"}});
  lost.diagnosis = Diagnosis{.rule = "xid:79",
                             .error_class = "device_lost",
                             .problem = FailureOwner::kMachine,
                             .where = "kernel_log",
                             .line = "NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.",
                             .next = "Reboot the node.",
                             .others = {"cuda:719"}};
  const ResolvedRun run =
      resolved_of({plan_of({planned("memory.xpu/A.B")}), started("memory.xpu/A.B"), lost});
  EXPECT_THAT(summarize_failure(run.cases[0]),
              ::testing::StartsWith("owner:         machine · device_lost (xid:79, also cuda:719): NVRM: Xid "
                                    "(PCI:0000:03:00): 79, GPU has fallen off the bus.\n"
                                    "next:          Reboot the node.\n"
                                    "what:          device_lost · device:xpu:0000:03:00.0: "));
}

TEST(Explain, DiagnosisDeterminesProblem) {
  AttemptEnded failed = ended("memory.xpu/A.B", {Outcome::kFail, ""});
  failed.diagnosis = Diagnosis{.rule = "ze:permissions", .problem = FailureOwner::kSetup, .where = "code"};
  ResolvedRun run = resolved_of({plan_of({planned("memory.xpu/A.B")}), started("memory.xpu/A.B"), failed});
  EXPECT_EQ(run.cases[0].problem, FailureOwner::kSetup);
  run = resolved_of(
      {plan_of({planned("memory.xpu/A.B")}), started("memory.xpu/A.B"), failed,
       concluded("memory.xpu/A.B", {Outcome::kDeviceLost, {Reason::kDevice, "xpu:0000:03:00.0"}})});
  EXPECT_EQ(run.cases[0].problem, FailureOwner::kMachine) << "the case ended otherwise than its attempt";
  EXPECT_EQ(run.cases[0].diagnosis, nullptr);
}

TEST(Explain, PlainFailureHasNoDiagnosisLine) {
  AttemptEnded failed = ended("memory.xpu/A.B", {Outcome::kFail, ""});
  failed.diagnosis = Diagnosis{.rule = "outcome:fail",
                               .error_class = "test_failure",
                               .problem = FailureOwner::kCode,
                               .where = "outcome",
                               .next = "Look at the first failed expectation."};
  const ResolvedRun run =
      resolved_of({plan_of({planned("memory.xpu/A.B")}), started("memory.xpu/A.B"), failed});
  EXPECT_THAT(summarize_failure(run.cases[0]), ::testing::StartsWith("owner:         code\nwhat: "));
}

TEST(Explain, ProblemNamesFaultyComponent) {
  AttemptEnded failed = ended("memory.xpu/A.B", {Outcome::kFail, ""});
  const auto describe = [&failed](FailureOwner problem, const Culprit& culprit) {
    failed.diagnosis = Diagnosis{.problem = problem, .culprit = culprit, .where = "outcome"};
    const ResolvedRun run =
        resolved_of({plan_of({planned("memory.xpu/A.B")}), started("memory.xpu/A.B"), failed});
    const std::string text = summarize_failure(run.cases[0]);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(describe(FailureOwner::kCode, {"driver", "Level Zero driver", "26.31"}),
            "owner:         code (the stack under test: Level Zero driver 26.31)");
  EXPECT_EQ(describe(FailureOwner::kCode, {"library", "gloo", ""}),
            "owner:         code (the stack under test: gloo)");
  EXPECT_EQ(describe(FailureOwner::kMachine, {"driver", "CUDA driver", "580"}),
            "owner:         machine (the driver: CUDA driver 580)");
  EXPECT_EQ(describe(FailureOwner::kMachine, {"device", "NVIDIA H100 PCIe", ""}),
            "owner:         machine (the device: NVIDIA H100 PCIe)");
  EXPECT_EQ(describe(FailureOwner::kCode, {"test", "unit", "0123456789abcdef"}), "owner:         code")
      << "the case's id names it";
}

// A newer driver must not change the cause, so that the history continues.
TEST(Explain, CauseIgnoresDriverVersion) {
  AttemptEnded failed = ended("memory.xpu/A.B", {Outcome::kFail, ""});
  failed.diagnosis = Diagnosis{.rule = "cuda:700",
                               .error_class = "gpu_fault",
                               .problem = FailureOwner::kCode,
                               .where = "code",
                               .line = "cudaErrorIllegalAddress"};
  std::set<std::string> keys;
  std::set<std::string> causes;
  for (const char* version : {"26.31", "26.32"}) {
    failed.diagnosis->culprit = Culprit{"driver", "Level Zero driver", version};
    const ResolvedRun run =
        resolved_of({plan_of({planned("memory.xpu/A.B")}), started("memory.xpu/A.B"), failed});
    keys.insert(cause_key(run.cases[0]));
    causes.insert(cause_text(run.cases[0].diagnosis));
  }
  EXPECT_EQ(keys.size(), 1U);
  EXPECT_EQ(causes.size(), 1U);
}

TEST(Explain, PassOnOtherDeviceIsDeviceProblem) {
  AttemptEnded bad = ended("memory.xpu/A.B", {Outcome::kFail, ""});
  bad.diagnosis =
      Diagnosis{.problem = FailureOwner::kCode, .culprit = Culprit{"driver", "Level Zero driver", "1"}};
  AttemptStarted again = started("memory.xpu/A.B");
  again.attempt = 2;
  AttemptEnded good = ended("memory.xpu/A.B", {Outcome::kPass, ""});
  good.attempt = 2;
  const ResolvedRun run =
      resolved_of({plan_of({planned("memory.xpu/A.B")}), started("memory.xpu/A.B"), bad, again, good,
                   concluded("memory.xpu/A.B", {Outcome::kPass, ""}, {Mark::kDeviceSuspect})});
  EXPECT_EQ(problem_text(run.cases[0]), "machine (the device: Card)");
}

TEST(Explain, HasCompleteTextForEveryBadOutcome) {
  const ResolvedRun run = resolved_of(rich_journal());
  int bad = 0;
  for (const ResolvedCase& test : run.cases) {
    if (!is_bad(test.verdict.outcome)) continue;
    ++bad;
    const std::string text = summarize_failure(test);
    const auto& end = test.deciding;
    const std::size_t evidence =
        end && end->end ? end->end->evidence.lines.size() + (end->end->evidence.core.file.empty() ? 0 : 1)
                        : 0;
    const std::size_t next = test.diagnosis ? 1 : 0;
    const std::size_t devices = end != nullptr && !end->start.devices.empty() ? 1 : 0;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
              static_cast<std::ptrdiff_t>(4 + next + devices + evidence))
        << text;
    EXPECT_THAT(text, ::testing::Not(HasSubstr(": \n")));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("nobody\n")));
    EXPECT_LE(test.headline.size(), 200u);
  }
  EXPECT_GT(bad, 10);
}

}  // namespace
}  // namespace proctor
