#include "harness/runner/attempt/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kDevices =
    R"(PROCTOR_DEVICES=[{"id":"xpu:0000:03:00.0","uuid":"a","pci":"0000:03:00.0"},{"id":"xpu:b","uuid":"b","pci":""}])";

class DiagnoseTest : public testing::Test {
 protected:
  DiagnoseTest() { add("before"); }

  void add(const std::string& line) { std::ofstream(path_, std::ios::app) << line << '\n'; }

  // Returns the event after diagnosis, if the kernel logs `line` during the attempt.
  AttemptEnded judged(Verdict verdict, const std::string& line) {
    Diagnoser diagnoser{KernelLog(path_)};
    const auto mark = diagnoser.position();
    if (!line.empty()) add(line);
    AttemptEnded event;
    event.verdict = std::move(verdict);
    diagnoser.judge(mark, diagnoser.devices_in({kDevices}), event, reported_);
    return event;
  }

  struct Reported : EventSink {
    void on(const Event& event) override { events.push_back(event); }
    std::vector<Event> events;
  };

  const TempDir directory_;
  const std::string path_ = directory_ / "kernel.log";
  Reported reported_;
};

TEST_F(DiagnoseTest, ReadsDevicesFromCaseEnvironment) {
  const Diagnoser diagnoser{KernelLog(path_)};
  const auto devices = diagnoser.devices_in({"A=1", kDevices});
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].id, "xpu:0000:03:00.0");
  EXPECT_EQ(devices[0].pci, "0000:03:00.0");
  EXPECT_EQ(devices[1].pci, "");
  EXPECT_THAT(diagnoser.devices_in({"A=1"}), IsEmpty());
  EXPECT_THAT(diagnoser.devices_in({"PROCTOR_DEVICES=nonsense"}), IsEmpty());
}

TEST_F(DiagnoseTest, IgnoresHostLogForSimulatedDevices) {
  const std::vector<std::string> environment = {kDevices, "PROCTOR_SIM_TOPOLOGY=xpu:2x1"};
  EXPECT_EQ(Diagnoser(KernelLog()).devices_in(environment)[0].pci, "");
  EXPECT_EQ(Diagnoser(KernelLog(path_)).devices_in(environment)[0].pci, "0000:03:00.0") << "a stand-in may";
}

TEST_F(DiagnoseTest, FailureOnLostDeviceIsDeviceLost) {
  const auto event =
      judged({Outcome::kFail, ""}, "NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.");
  EXPECT_EQ(event.verdict, (Verdict{Outcome::kDeviceLost, {Reason::kDevice, "xpu:0000:03:00.0"}}));
  ASSERT_TRUE(event.diagnosis);
  EXPECT_EQ(event.diagnosis->rule, "xid:79");
  EXPECT_EQ(event.diagnosis->problem, FailureOwner::kMachine);
}

TEST_F(DiagnoseTest, IgnoresEarlierAndForeignDeviceErrors) {
  add("NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.");
  EXPECT_EQ(judged({Outcome::kFail, ""}, "").verdict, (Verdict{Outcome::kFail, ""}));
  const auto elsewhere =
      judged({Outcome::kFail, ""}, "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.");
  EXPECT_EQ(elsewhere.verdict, (Verdict{Outcome::kFail, ""}));
  EXPECT_EQ(elsewhere.diagnosis->rule, "outcome:fail");
}

TEST_F(DiagnoseTest, ReportsOomKill) {
  const auto event = judged({Outcome::kCrash, {Reason::kSignal, 9}},
                            "Out of memory: Killed process 7 (python3) total-vm:1kB");
  EXPECT_EQ(event.verdict, (Verdict{Outcome::kCrash, Reason::kOomHost}));
}

TEST_F(DiagnoseTest, KeepsVerdictOfChild) {
  const Verdict own{Outcome::kError, Reason::kMaskMismatch};
  EXPECT_EQ(judged(own, "NVRM: Xid (PCI:0000:03:00): 79, gone").verdict, own);
}

TEST_F(DiagnoseTest, GoodAndNotrunOutcomesHaveNoDiagnosis) {
  for (const Outcome outcome : {Outcome::kPass, Outcome::kSkip, Outcome::kXfail, Outcome::kNotrun})
    EXPECT_FALSE(judged({outcome, reason_in_words("x")}, "").diagnosis) << to_string(outcome);
}

class DeviceErrorsTest : public DiagnoseTest {
 protected:
  std::vector<std::string> rules_since(KernelLog::Position mark, const std::string& devices = kDevices) {
    std::vector<std::string> rules;
    for (const DeviceError& error : diagnoser_.device_errors(mark, diagnoser_.devices_in({devices})))
      rules.push_back(error.rule + (error.by_machine ? "" : " by code"));
    return rules;
  }

  Diagnoser diagnoser_{KernelLog(path_)};
};

TEST_F(DeviceErrorsTest, AreIndependentOfTheOutcome) {
  const auto mark = diagnoser_.position();
  EXPECT_THAT(rules_since(mark), IsEmpty());
  add("NVRM: Xid (PCI:0000:03:00): 48, pid=1, DBE");
  add("NVRM: Xid (PCI:0000:03:00): 48, pid=1, DBE again");
  add("xe 0000:03:00.0: [drm] *ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as wedged.");
  add("i915 0000:03:00.0: [drm] GPU HANG: ecode 12:1:85dffffb, in test [1]");
  add("pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:03:00.0");
  EXPECT_THAT(rules_since(mark), ElementsAre("xid:48", "xe:wedged", "i915:hang by code", "pcie:uncorrected"));
  EXPECT_THAT(rules_since(mark), IsEmpty()) << "each line once";
}

TEST_F(DeviceErrorsTest, IgnoreLinesOfAnotherDevice) {
  const auto mark = diagnoser_.position();
  add("NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.");
  add("nvidia-nvswitch1: SXid (PCI:0000:c2:00.0): 20034, Fatal, Link 29 LTSSM Fault Up");
  EXPECT_THAT(rules_since(mark), IsEmpty());
}

TEST_F(DeviceErrorsTest, IncludeFatalErrorsOfTheFabric) {
  constexpr const char* kCuda = R"(PROCTOR_DEVICES=[{"id":"cuda:0","uuid":"a","pci":"0000:03:00.0"}])";
  const auto mark = diagnoser_.position();
  add("nvidia-nvswitch1: SXid (PCI:0000:c2:00.0): 20034, Fatal, Link 29 LTSSM Fault Up");
  EXPECT_THAT(rules_since(mark, kCuda), ElementsAre("sxid:fatal"));
}

TEST_F(DeviceErrorsTest, ReportErrorsAfterLastCase) {
  EXPECT_THAT(rules_since(diagnoser_.position()), IsEmpty());
  add("NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.");
  const auto late = diagnoser_.late_device_errors();
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].device, "xpu:0000:03:00.0");
  EXPECT_EQ(late[0].rule, "xid:79");
}

TEST_F(DiagnoseTest, ExpectedErrorIsNoSymptom) {
  Diagnoser diagnoser{KernelLog(path_)};
  AttemptEnded event;
  event.verdict = {Outcome::kFail, ""};
  event.failures = {{.rule = "",
                     .message = "an empty mask: cudaErrorNoDevice",
                     .file = "",
                     .line = 0,
                     .expected = "cudaErrorNoDevice",
                     .got = "1",
                     .device = ""}};
  event.output.stdout_tail =
      "an empty mask: cudaErrorNoDevice\n  expected: cudaErrorNoDevice\n       got: 1\n";
  diagnoser.judge(diagnoser.position(), {}, event, reported_);
  EXPECT_EQ(event.diagnosis->rule, "outcome:fail");
}

// The test itself may have sent the signal, for example with kill(0, SIGKILL).
TEST_F(DiagnoseTest, SigkillIsMachineProblemOnlyAfterOom) {
  Diagnoser diagnoser{KernelLog(path_)};
  AttemptEnded event;
  event.verdict = {Outcome::kCrash, {Reason::kSignal, 9}};
  diagnoser.judge(diagnoser.position(), {}, event, reported_);
  EXPECT_EQ(event.diagnosis->rule, "outcome:killed");
  EXPECT_EQ(event.diagnosis->problem, FailureOwner::kCode);
  diagnoser.judge(diagnoser.position(), {}, event, reported_, /*oom_kills=*/1);
  EXPECT_EQ(event.diagnosis->rule, "signal:oom_host");
  EXPECT_EQ(to_string(event.verdict), "crash(oom_host)");
}

TEST_F(DiagnoseTest, ReportsUnreadableLogOnce) {
  Diagnoser diagnoser{KernelLog("/nowhere/log")};
  for (int i = 0; i < 2; ++i) {
    AttemptEnded event;
    event.verdict = {Outcome::kFail, ""};
    diagnoser.judge(diagnoser.position(), {}, event, reported_);
    EXPECT_THAT(event.diagnosis->gaps, ElementsAre(HasSubstr("cannot be read")));
  }
  EXPECT_EQ(reported_.events.size(), 1U) << "a run says it once";
}

// The kernel first names this test process, then a process that is not its descendant.
TEST_F(DiagnoseTest, HangOfForeignProcessHasOwnRule) {
  const auto hang = [this](int pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(file, name);
    return judged({Outcome::kFail, ""}, "i915 0000:03:00.0: [drm] GPU HANG: ecode 12:1:0, in " + name + " [" +
                                            std::to_string(pid) + "]")
        .diagnosis->rule;
  };
  EXPECT_EQ(hang(::getpid()), "i915:hang");
  EXPECT_EQ(hang(::getppid()), "kernel:foreign_process");
}

TEST_F(DiagnoseTest, EvidenceIncludesDeviceLines) {
  Diagnoser diagnoser{KernelLog(path_)};
  const auto mark = diagnoser.position();
  add("xe 0000:03:00.0: [drm] one");
  add("xe 0000:41:00.0: [drm] two");
  const auto evidence = diagnoser.evidence(mark, diagnoser.devices_in({kDevices}));
  EXPECT_THAT(evidence.lines, ElementsAre("xe 0000:03:00.0: [drm] one"));
  EXPECT_EQ(evidence.gap, "");
}

}  // namespace
}  // namespace proctor
