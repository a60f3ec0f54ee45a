#include "reports/resolve/device_verdict.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Verdict kPass{Outcome::kPass, ""};
const Verdict kFail{Outcome::kFail, ""};
const Verdict kUnhealthy{Outcome::kNotrun, Reason::kDeviceUnhealthy};

std::string device(int number) { return fmt::format("cuda-sim:{}", number); }

// A run of some cases on a machine with four devices.
class MachineRun {
 public:
  explicit MachineRun(const std::vector<std::string>& ids, bool each_device = false) {
    std::vector<PlannedCase> cases;
    for (const std::string& id : ids) {
      cases.push_back(planned(id));
      cases.back().devices = 1;
      cases.back().backend = "cuda";
    }
    RunPlanned plan = plan_of(std::move(cases));
    plan.devices.clear();
    for (int i = 0; i < 4; ++i) plan.devices.push_back({device(i), "cuda", "Simulated A40G", true});
    plan.rules.each_device = each_device;
    plan.sim = SimInfo{.topology = "cuda:4", .driver = "simgpu"};
    events_.emplace_back(std::move(plan));
  }

  MachineRun& attempt(const std::string& id, int on, const Verdict& verdict) {
    const int number = ++attempts_[id];
    AttemptStarted start = started(id, number);
    start.devices = {device(on)};
    events_.emplace_back(start);
    events_.emplace_back(ended(id, verdict, number));
    return *this;
  }
  MachineRun& suspect(const std::string& id, int on) {
    return say(AttemptSuspected{id, attempts_[id], 1, device(on), "wrong bytes"});
  }
  MachineRun& end(const std::string& id, const Verdict& verdict, const Marks& marks = {}) {
    return say(concluded(id, verdict, marks));
  }
  MachineRun& health(int on, HealthFact what, const std::string& id, const std::string& evidence) {
    return say(DeviceHealth{.device = device(on), .what = what, .case_id = id, .evidence = evidence});
  }
  MachineRun& say(const Event& event) {
    events_.push_back(event);
    return *this;
  }
  ResolvedRun resolved() const {
    auto events = events_;
    events.emplace_back(RunEnded{"2026-01-31T12:00:09Z", 9000});
    return resolved_of(events);
  }

 private:
  std::vector<Event> events_;
  std::map<std::string, int> attempts_;
};

DeviceVerdict verdict_of(const ResolvedRun& resolved) {
  return resolved.device_verdict.value_or(DeviceVerdict{});
}
DeviceVerdict verdict_of(const MachineRun& run) { return verdict_of(run.resolved()); }

// The case failed on cuda-sim:2, whose probe then failed, and passed on cuda-sim:3.
MachineRun moved() {
  MachineRun run({"s/a", "s/b", "s/c", "s/d"});
  run.attempt("s/a", 2, kFail).suspect("s/a", 2);
  run.health(2, HealthFact::kProbeFailed, "s/a", "compare: word 4: expected 5, got 6");
  run.health(2, HealthFact::kDrained, "s/a", "health_failed: compare: word 4: expected 5, got 6");
  run.attempt("s/a", 3, kPass).end("s/a", kPass, {Mark::kDeviceSuspect});
  return run.attempt("s/b", 0, kPass).end("s/b", kPass).attempt("s/c", 1, kPass).end("s/c", kPass);
}

TEST(DeviceVerdict, NamesDeviceWithFailedProbe) {
  const MachineRun run = moved().attempt("s/d", 3, kPass).end("s/d", kPass);
  const DeviceVerdict verdict = verdict_of(run);
  EXPECT_EQ(
      verdict.sentence,
      "GPU cuda-sim:2 is unhealthy: its health probe failed after s/a. The code passed on cuda-sim:0, 1, 3.");
  EXPECT_THAT(verdict.more, ElementsAre("cuda-sim:2: compare: word 4: expected 5, got 6",
                                        "s/a moved from cuda-sim:2 to cuda-sim:3 and passed there."));
  EXPECT_EQ(verdict.exit, "Exit code 75: a retry on another machine is useful.");
  EXPECT_EQ(verdict.advice, "Drain the node, then test the device:");
  EXPECT_EQ(verdict.command, "proctor accept --devices cuda-sim:2 --sim cuda:4");
  const auto problems = run.resolved().problems;
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].message, HasSubstr(verdict.sentence));
}

TEST(DeviceVerdict, CountsOtherFailedCases) {
  const DeviceVerdict verdict = verdict_of(moved().attempt("s/d", 0, kFail).end("s/d", kFail));
  EXPECT_EQ(verdict.sentence,
            "GPU cuda-sim:2 is unhealthy: its health probe failed after s/a. 1 other case failed.");
  EXPECT_EQ(verdict.exit, "Exit code 1: a failure counts against the code.");
}

TEST(DeviceVerdict, NamesLostDevice) {
  MachineRun run({"s/a", "s/b"});
  run.attempt("s/a", 1, {Outcome::kDeviceLost, {Reason::kDevice, device(1)}});
  run.health(1, HealthFact::kLost, "s/a", "ZE_RESULT_ERROR_DEVICE_LOST");
  run.health(1, HealthFact::kDrained, "s/a", "lost: ZE_RESULT_ERROR_DEVICE_LOST");
  run.end("s/a", {Outcome::kDeviceLost, {Reason::kDevice, device(1)}});
  run.attempt("s/b", 0, kPass).end("s/b", kPass);
  const DeviceVerdict verdict = verdict_of(run);
  EXPECT_EQ(verdict.sentence,
            "GPU cuda-sim:1 is unhealthy: it was lost after s/a. All other cases passed on cuda-sim:0.");
  EXPECT_EQ(verdict.command, "proctor doctor");
}

TEST(DeviceVerdict, ReportsFailedProbeBeforeCase) {
  MachineRun run({"s/a"});
  run.health(0, HealthFact::kProbeFailed, "s/a", "hung").attempt("s/a", 1, kPass).end("s/a", kPass);
  EXPECT_EQ(
      verdict_of(run).sentence,
      "GPU cuda-sim:0 is unhealthy: its health probe failed before s/a. The code passed on cuda-sim:1.");
  EXPECT_EQ(verdict_of(run).exit, "Exit code 0: every case passed on another device.");
}

TEST(DeviceVerdict, NamesDeviceWithKernelLogError) {
  MachineRun run({"s/a"});
  run.attempt("s/a", 1, kPass).health(1, HealthFact::kKernelLog, "s/a", "xid:48: NVRM: Xid 48");
  run.health(1, HealthFact::kProbePassed, "s/a", "").end("s/a", kPass);
  const DeviceVerdict verdict = verdict_of(run);
  EXPECT_EQ(verdict.sentence,
            "GPU cuda-sim:1 is suspect: the kernel logged an error of it at s/a. No case passed on another "
            "device.");
  EXPECT_EQ(verdict.more, std::vector<std::string>{"cuda-sim:1: xid:48: NVRM: Xid 48"});
  EXPECT_EQ(verdict.exit, "Exit code 0: every case passed.");
  EXPECT_TRUE(verdict.command.starts_with("proctor accept --devices cuda-sim:1")) << verdict.command;
}

TEST(DeviceVerdict, PassedProbeAfterResetClearsLoss) {
  MachineRun run({"s/a"});
  run.attempt("s/a", 1, kFail).health(1, HealthFact::kLost, "s/a", "wedged");
  run.health(1, HealthFact::kReset, "s/a", "reset").health(1, HealthFact::kProbePassed, "s/a", "");
  EXPECT_FALSE(run.attempt("s/a", 1, kPass).end("s/a", kPass).resolved().device_verdict);
}

TEST(DeviceVerdict, NamesSeveralBadDevices) {
  MachineRun run({"s/a"});
  run.health(0, HealthFact::kProbeFailed, "s/a", "hung").health(2, HealthFact::kLost, "s/a", "gone");
  EXPECT_EQ(verdict_of(run.attempt("s/a", 1, kPass).end("s/a", kPass)).sentence,
            "2 GPUs are unhealthy: cuda-sim:0 (its health probe failed before s/a), cuda-sim:2 (it was lost "
            "before s/a). "
            "The code passed on cuda-sim:1.");
}

// ---- --each-device ----

MachineRun on_each_device(int repeats, int bad_device, const std::vector<std::string>& ids = {"s/a"}) {
  MachineRun run(ids, true);
  for (const std::string& id : ids) {
    for (int on = 0; on < 4; ++on) {
      for (int i = 0; i < repeats; ++i)
        run.attempt(id, on, on == bad_device || bad_device < 0 ? kFail : kPass);
    }
    run.end(id, kFail);
  }
  return run;
}

TEST(DeviceVerdict, EachDeviceNamesSignificantlyFailingDevice) {
  EXPECT_EQ(
      verdict_of(on_each_device(5, 2)).sentence,
      "GPU cuda-sim:2 is unhealthy: s/a failed there 5 of 5 times, and 0 of 15 times elsewhere (p = 6e-05). "
      "The code passed on cuda-sim:0, 1, 3.");
  EXPECT_EQ(on_each_device(5, 2).resolved().exit_code, 75);
  EXPECT_THAT(verdict_of(on_each_device(5, 2, {"s/a", "s/b"})).sentence,
              HasSubstr("2 cases fail there more often than chance explains (p = 6e-05 or less)."));
}

TEST(DeviceVerdict, EachDeviceReportsInsignificantResultAsSuspect) {
  const DeviceVerdict verdict = verdict_of(on_each_device(1, 2));
  EXPECT_THAT(verdict.sentence,
              HasSubstr("GPU cuda-sim:2 is suspect: s/a failed there 1 of 1 times, and 0 of 3 times "
                        "elsewhere, which chance can explain (p = 0.25)."));
  EXPECT_THAT(verdict.sentence, Not(HasSubstr("The code passed")));
  EXPECT_EQ(verdict.command_in("proctor-out/latest"),
            "proctor rerun proctor-out/latest --failed --each-device --repeat 5");
}

TEST(DeviceVerdict, EachDeviceReportsFailureEverywhereAsCode) {
  EXPECT_EQ(verdict_of(on_each_device(2, -1)).sentence, "No GPU is at fault: s/a failed on every device.");
}

// The first case detects the unhealthy device. The other cases are not run there, and pass on the other devices.
TEST(DeviceVerdict, CountsCasesNotRunOnUnhealthyDevice) {
  MachineRun run({"s/a", "s/b", "s/c"}, true);
  run.attempt("s/a", 2, kFail).suspect("s/a", 2).health(2, HealthFact::kProbeFailed, "s/a", "hung");
  for (const char* id : {"s/a", "s/b", "s/c"}) {
    for (const int on : {0, 1, 3}) run.attempt(id, on, kPass);
  }
  run.end("s/a", kPass, {Mark::kDeviceSuspect}).end("s/b", kPass).end("s/c", kPass);
  const ResolvedRun resolved = run.resolved();
  const DeviceVerdict verdict = verdict_of(resolved);
  EXPECT_EQ(
      verdict.sentence,
      "GPU cuda-sim:2 is unhealthy: its health probe failed after s/a. The code passed on cuda-sim:0, 1, 3.");
  EXPECT_THAT(verdict.more, Contains("2 cases were not run on cuda-sim:2."));
  EXPECT_THAT(resolved.cases[1].not_tried, ElementsAre("cuda-sim:2"));
  EXPECT_THAT(resolved.cases[0].not_tried, IsEmpty());
}

// --probe-devices detected the device. No attempt failed, but the run does not pass.
TEST(DeviceVerdict, UnusedUnhealthyDeviceFailsRun) {
  MachineRun run({"s/a"}, true);
  run.health(2, HealthFact::kProbeFailed, "s/a", "hung");
  for (const int on : {0, 1, 3}) run.attempt("s/a", on, kPass);
  const ResolvedRun resolved = run.end("s/a", kPass).resolved();
  EXPECT_EQ(resolved.exit_code, 75);
  ASSERT_EQ(resolved.problems.size(), 1u);
  EXPECT_THAT(resolved.problems[0].message, HasSubstr("GPU cuda-sim:2 is unhealthy"));
}

TEST(DeviceVerdict, CountsCasesWithoutRemainingDevice) {
  MachineRun run({"s/a", "s/b", "s/c"});
  run.attempt("s/a", 0, kFail).suspect("s/a", 0).health(0, HealthFact::kProbeFailed, "s/a", "hung");
  run.end("s/a", kUnhealthy).end("s/b", kUnhealthy).end("s/c", kUnhealthy);
  const DeviceVerdict verdict = verdict_of(run);
  EXPECT_EQ(
      verdict.sentence,
      "GPU cuda-sim:0 is unhealthy: its health probe failed after s/a. No case passed on another device.");
  EXPECT_THAT(verdict.more, Contains("3 cases have no result: no other device was left."));
}

// ---- Without a failed probe ----

TEST(DeviceVerdict, RepeatedFailureOnOneDeviceIsSuspect) {
  MachineRun run({"s/a"});
  run.attempt("s/a", 2, kFail).attempt("s/a", 2, kFail).attempt("s/a", 3, kPass);
  run.end("s/a", kPass, {Mark::kDeviceSuspect});
  EXPECT_EQ(
      verdict_of(run).sentence,
      "GPU cuda-sim:2 is suspect: s/a failed there and passed on cuda-sim:3. The code passed on cuda-sim:3.");
}

TEST(DeviceVerdict, SignificantFailureRateIsSuspect) {
  std::vector<std::string> ids;
  for (int i = 0; i < 40; ++i) ids.push_back(fmt::format("s/{}", i));
  MachineRun run(ids);
  for (int i = 0; i < 40; ++i) {
    const Verdict& verdict = i % 4 == 1 ? kFail : kPass;
    run.attempt(ids[static_cast<std::size_t>(i)], i % 4, verdict)
        .end(ids[static_cast<std::size_t>(i)], verdict);
  }
  EXPECT_THAT(
      verdict_of(run).sentence,
      HasSubstr(
          "GPU cuda-sim:1 is suspect: 10 of 10 attempts failed on cuda-sim:1, 0 of 30 elsewhere (p = "));
  EXPECT_EQ(verdict_of(run).advice, "Code or device?");
}

TEST(DeviceVerdict, IsEmptyForSingleFailure) {
  MachineRun run({"s/a", "s/b"});
  run.attempt("s/a", 0, kPass).end("s/a", kPass).attempt("s/b", 1, kFail).end("s/b", kFail);
  EXPECT_FALSE(run.resolved().device_verdict);
}

TEST(DeviceVerdict, NamesHostInMergedRun) {
  RunPlanned plan = plan_of({planned("s/a")});
  plan.devices = {{"gpu7/cuda:GPU-1", "cuda", "H100"}};
  const ResolvedRun resolved = resolved_of({plan, DeviceHealth{.device = "gpu7/cuda:GPU-1",
                                                               .what = HealthFact::kProbeFailed,
                                                               .case_id = "",
                                                               .evidence = "hung"}});
  const DeviceVerdict verdict = verdict_of(resolved);
  EXPECT_EQ(verdict.advice, "Drain the node gpu7, then test the device:");
  EXPECT_EQ(verdict.command, "proctor accept --devices cuda:GPU-1");
}

}  // namespace
}  // namespace proctor
