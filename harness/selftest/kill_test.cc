#include "harness/selftest/kill.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

constexpr std::int64_t kSetUp = 100, kFailed = 200;

// A run that counts as a kill. Each row of the table below changes one value.
FaultedCase killed_run() {
  Failure failure;
  failure.rule = "M22";
  failure.message = "byte 17";
  failure.expected = "0x11";
  failure.got = "0xee";
  FaultedCase run;
  run.fault = "memory.corrupt_copy";
  run.rule = "M22";
  run.verdict = {Outcome::kFail, ""};
  run.failures = {failure};
  run.set_up_ns = kSetUp;
  run.first_failure_ns = kFailed;
  run.firings = {{"memory.corrupt_copy", 150}};
  return run;
}

struct Row {
  const char* name;
  void (*change)(FaultedCase&);
  bool fired;
  bool killed;
  const char* message;
};

const Row kRows[] = {
    {"Killed", [](FaultedCase&) {}, true, true, "byte 17; expected 0x11, got 0xee"},
    {"NotFired", [](FaultedCase& run) { run.firings.clear(); }, false, false, "the fault never fired"},
    {"OtherFaultFired", [](FaultedCase& run) { run.firings[0].fault = "copy.short"; }, false, false,
     "the fault never fired"},
    {"FiredInSetUpOnly", [](FaultedCase& run) { run.firings[0].t_ns = 99; }, false, false,
     "the fault fired only in the check's setup"},
    {"FiredInSetUpAndAfter",
     [](FaultedCase& run) {
       run.firings.push_back({run.fault, 50});
     },
     true, true, "byte 17; expected 0x11, got 0xee"},
    {"NeverBegan", [](FaultedCase& run) { run.set_up_ns = 0; }, false, false,
     "the fault fired only in the check's setup"},
    {"FiredAfterTheFailure", [](FaultedCase& run) { run.firings[0].t_ns = 201; }, true, false,
     "the check failed before the fault fired: byte 17; expected 0x11, got 0xee"},
    {"Survived",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kPass, ""};
       run.failures.clear();
     },
     true, false, "survived"},
    {"OtherRule", [](FaultedCase& run) { run.failures[0].rule = "M23"; }, true, false,
     "no failed assertion carries rule M22"},
    {"NoAssertion", [](FaultedCase& run) { run.failures.clear(); }, true, false,
     "no failed assertion carries rule M22"},
    {"Skip",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kSkip, Reason::kNoDevice};
     },
     true, false, "skip(no_device) does not count as a kill"},
    {"Crash",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kCrash, {Reason::kSignal, 11}};
     },
     true, false, "crash(signal:11) does not count as a kill"},
    {"Error",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kError, Reason::kNoResult};
     },
     true, false, "error(no_result) does not count as a kill"},
    {"Timeout",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kTimeout, ""};
     },
     true, false, "timeout does not count as a kill"},
    {"Stall",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kStall, ""};
     },
     true, false, "stall does not count as a kill"},
    {"DeviceLost",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kDeviceLost, ""};
     },
     true, false, "device_lost does not count as a kill"},
    {"ExpectedHang",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kTimeout, ""};
       run.expects = "hang";
     },
     true, true, "ended as the check expects: timeout"},
    {"ExpectedStall",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kStall, ""};
       run.expects = "hang";
     },
     true, true, "ended as the check expects: stall"},
    {"ExpectedAbort",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kCrash, {Reason::kSignal, 6}};
       run.expects = "abort";
     },
     true, true, "ended as the check expects: crash(signal:6)"},
    {"ExpectedLoss",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kFail, Reason::kDeviceLost};
       run.expects = "lost";
     },
     true, true, "ended as the check expects: fail(device_lost)"},
    {"ExpectedMismatch",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kError, Reason::kMaskMismatch};
       run.expects = "mismatch";
     },
     true, true, "ended as the check expects: error(mask_mismatch)"},
    {"AnErrorThatIsNoMismatch",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kError, Reason::kNoResult};
       run.expects = "mismatch";
     },
     true, false, "error(no_result) does not count as a kill"},
    {"HangWhereAnAbortIsExpected",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kTimeout, ""};
       run.expects = "abort";
     },
     true, false, "timeout does not count as a kill"},
    {"ExpectedHangWithoutItsFault",
     [](FaultedCase& run) {
       run.verdict = {Outcome::kTimeout, ""};
       run.expects = "hang";
       run.firings.clear();
     },
     false, false, "the fault never fired"},
};

class Kill : public testing::TestWithParam<Row> {};

TEST_P(Kill, MatchesEachRowOfTable) {
  FaultedCase run = killed_run();
  GetParam().change(run);
  const KillResult kill = judge_kill(run);
  EXPECT_EQ(kill.fired, GetParam().fired);
  EXPECT_EQ(kill.killed, GetParam().killed);
  EXPECT_EQ(kill.message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(All, Kill, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

constexpr const char* kLine =
    R"({"fault":"memory.corrupt_copy","n":1,"pid":7,"t_ns":123,"case":"m.xpu/A.B"})";

TEST(FaultLog, ParsesOneFiringPerLine) {
  const auto firings = parse_fault_log(std::string(kLine) + "\n" + kLine + "\n");
  ASSERT_TRUE(firings);
  ASSERT_EQ(firings->size(), 2U);
  EXPECT_EQ(firings->front().fault, "memory.corrupt_copy");
  EXPECT_EQ(firings->front().t_ns, 123);
}

TEST(FaultLog, IgnoresTruncatedLastLine) {
  const auto firings = parse_fault_log(std::string(kLine) + "\n" + std::string(kLine).substr(0, 20));
  ASSERT_TRUE(firings);
  EXPECT_EQ(firings->size(), 1U);
}

TEST(FaultLog, RejectsInvalidRecords) {
  for (const std::string bad : {"{}", "x", R"({"fault":1,"t_ns":1})", R"({"fault":"a.b"})"}) {
    EXPECT_FALSE(parse_fault_log(std::string(kLine) + "\n" + bad + "\n")) << bad;
  }
}

TEST(FaultLog, IsEmptyWithoutFile) {
  const auto firings = read_fault_log(testing::TempDir() + "no-such-fault-log");
  ASSERT_TRUE(firings);
  EXPECT_TRUE(firings->empty());
  EXPECT_FALSE(read_fault_log(testing::TempDir()));  // the path is a directory
}

}  // namespace

}  // namespace proctor
