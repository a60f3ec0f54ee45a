#include "harness/devices/admission/device_admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"
#include "harness/process/containment.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::Optional;

AttemptEnded ended_as(Outcome outcome) {
  AttemptEnded ended;
  ended.verdict.outcome = outcome;
  return ended;
}

TEST(ProbeTrigger, DependsOnOutcomeOfAttempt) {
  for (const Outcome outcome : kAllOutcomes) {
    const bool ended_early = outcome == Outcome::kTimeout || outcome == Outcome::kStall ||
                             outcome == Outcome::kCrash || outcome == Outcome::kDeviceLost;
    const bool bad = ended_early || outcome == Outcome::kFail || outcome == Outcome::kError;
    EXPECT_EQ(raises_suspicion(ended_as(outcome), false), bad) << to_string(outcome);
    EXPECT_EQ(raises_suspicion(ended_as(outcome), true), bad && outcome != Outcome::kFail)
        << to_string(outcome);
  }
}

TEST(ProbeTrigger, IgnoresAttemptThatNeverStarted) {
  AttemptEnded refused = ended_as(Outcome::kError);
  refused.verdict.reason = {Reason::kSpawn, "ENOENT"};
  EXPECT_FALSE(raises_suspicion(refused, false));
}

TEST(ProbeTrigger, IncludesFailuresThatNameDeviceLoss) {
  constexpr const char* kText = "zeMemAllocDevice: ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)";
  for (const Outcome outcome : {Outcome::kFail, Outcome::kError, Outcome::kPass}) {
    AttemptEnded printed = ended_as(outcome);
    printed.output.stderr_tail = kText;
    EXPECT_EQ(raises_suspicion(printed, true), outcome != Outcome::kPass) << to_string(outcome);
    AttemptEnded reported = ended_as(outcome);
    reported.failures = {{"", kText, "", 0, "", "", ""}};
    EXPECT_EQ(raises_suspicion(reported, true), outcome != Outcome::kPass) << to_string(outcome);
  }
}

// Two devices that other runs can see.
class Pool : public testing::Test {
 protected:
  void SetUp() override {
    auto leases = LeaseDirectory::open(directory_ + "/leases");
    ASSERT_TRUE(leases) << leases.error().what;
    leases_ = *std::move(leases);
  }

  DevicePool pool() const {
    PoolDevice a{.device = {"a", "xpu", "", false}, .shared = false};
    PoolDevice b{.device = {"b", "xpu", "", false}, .shared = false};
    return DevicePool({a, b}, leases_, "run");
  }
  void leave_dirty(const std::string& device) const {
    ASSERT_TRUE(leases_->take(device, {.run = "dead", .command = ""}));  // the lease is never marked clean
  }

  TempDir scratch_;
  const std::string directory_ = scratch_.string();
  std::optional<LeaseDirectory> leases_;
};

TEST_F(Pool, SkipsExcludedDevicesAndKeepsReason) {
  DevicePool devices = pool();
  devices.leave_out("a", "a is in use: pid 7");
  EXPECT_THAT(devices.lease("xpu", 1, "case"), Optional(ElementsAre("b")));
  EXPECT_EQ(devices.lease("xpu", 1, "case"), std::nullopt);
  EXPECT_THAT(devices.held_elsewhere(), ElementsAre("a is in use: pid 7"));
}

TEST_F(Pool, UnusedDeviceStaysDirty) {
  leave_dirty("a");
  for (int i = 0; i < 2; ++i) {
    DevicePool devices = pool();
    ASSERT_THAT(devices.lease("xpu", 2, "case"), Optional(ElementsAre("a", "b")));
    EXPECT_NE(devices.left_dirty("a"), std::nullopt) << i;
    EXPECT_EQ(devices.left_dirty("b"), std::nullopt) << i;
    devices.return_unused({"a", "b"});
  }
}

TEST_F(Pool, HealthyDeviceIsNoLongerDirty) {
  leave_dirty("a");
  {
    DevicePool devices = pool();
    ASSERT_TRUE(devices.lease("xpu", 2, "case"));
    devices.found_well("a");
    EXPECT_EQ(devices.left_dirty("a"), std::nullopt);
    devices.return_unused({"a", "b"});
  }
  DevicePool devices = pool();
  ASSERT_TRUE(devices.lease("xpu", 2, "case"));
  EXPECT_EQ(devices.left_dirty("a"), std::nullopt);
  EXPECT_TRUE(devices.take_warnings().empty());
}

// Records the health facts of a device, without its initial state and without snapshots that found nothing
// new.
class Health : public EventSink {
 public:
  void on(const Event& event) override {
    const auto* health = std::get_if<DeviceHealth>(&event);
    if (health && health->what != HealthFact::kBaseline) found.push_back(health->what.text());
  }
  std::vector<std::string> found;
};

// Shell scripts replace the probe that watches the device, and the program that examines it.
class SilentDriver : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Containment::open(std::nullopt, "visits-test-" + scratch_.path().filename().string());
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = *std::move(opened);
  }
  void TearDown() override {
    if (!admission_) return;
    admission_->stop([this] { io_.stop(); });
    io_.restart();
    io_.run();
  }

  static HealthRequest examination(const std::string& directory, const char* result) {
    return {
        .argv = {"/bin/sh", "-c",
                 std::string("printf '%s\\n' '") + result + "' >&$PROCTOR_EVENTS_FD; " +
                     (std::string_view(result).find("pass") == std::string_view::npos ? "exit 1" : "exit 0")},
        .env = {"PATH=/usr/bin:/bin"},
        .directory = directory,
        .leases = {}};
  }
  void begin(const std::string& probe, const char* result) {
    setup_.monitor = MonitorSetup{{{.argv = {"/bin/sh", "-c", probe, "probe"},
                                    .env = {"PATH=/usr/bin:/bin"},
                                    .fifo = scratch_.string() + "/fifo",
                                    .ids = {"a"},
                                    .deadline = Milliseconds(300)}}};
    rules_.request = examination(scratch_.string(), result);
    setup_.rules = &rules_;
    admission_ = std::make_unique<DeviceAdmission>(io_, *containment_, setup_, pool_, health_, Clock::now());
  }
  DeviceAdmission::Left leave() {
    std::optional<DeviceAdmission::Left> left;
    admission_->leave({"a"}, "case", /*doubt=*/false,
                      [&](const DeviceAdmission::Left& answer) { left = answer; });
    io_.restart();
    while (!left) io_.run_one();
    return *left;
  }

  static constexpr const char* kAnswers =
      "while [ -n \"$(head -c1)\" ]; do printf '%s\\n' "
      "'{\"devices\":[{\"state\":\"ok\",\"memory\":{\"used\":0},\"holders\":[]}]}' >&$PROCTOR_EVENTS_FD; "
      "done <$2";
  static constexpr const char* kHangs = "exec sleep 1000";
  static constexpr const char* kWell = R"({"v":1,"device":"a","result":"pass","step":"","detail":"","ms":4})";
  static constexpr const char* kUnhealthy =
      R"({"v":1,"device":"a","result":"fail","step":"s","detail":"d","ms":4})";

  TempDir scratch_;
  std::unique_ptr<Containment> containment_;
  boost::asio::io_context io_;
  struct : DeviceRules {
    std::optional<HealthRequest> health_request(const std::string& /*device*/) override { return request; }
    std::string why_lost(const std::string& /*device*/) override { return {}; }
    HealthRequest request{};
  } rules_;
  DeviceCheckSetup setup_;
  DevicePool pool_{{PoolDevice{.device = {"a", "xpu", "", false}, .shared = false}}};
  Health health_;
  std::unique_ptr<DeviceAdmission> admission_;
};

TEST_F(SilentDriver, HangingDeviceIsProbedOnlyOnce) {
  begin(kHangs, kWell);
  EXPECT_FALSE(leave().any_unhealthy);
  EXPECT_THAT(health_.found, ElementsAre("unknown", "probe_passed"));
  leave();
  EXPECT_THAT(health_.found, ElementsAre("unknown", "probe_passed"))
      << "a driver that stays slow costs no case more";
}

TEST_F(SilentDriver, DrainsUnresponsiveDeviceThatFailsProbe) {
  begin(kHangs, kUnhealthy);
  EXPECT_TRUE(leave().any_unhealthy);
  EXPECT_THAT(health_.found, ElementsAre("unknown", "probe_failed", "drained"));
}

TEST_F(SilentDriver, KernelLogErrorTriggersProbe) {
  begin(kAnswers, kWell);
  admission_->error_logged(
      {.device = "a", .rule = "xid:48", .by_machine = true, .line = "DBE", .next = "Reset."}, "case",
      /*passed=*/true);
  EXPECT_FALSE(leave().any_unhealthy);
  leave();
  EXPECT_THAT(health_.found, ElementsAre("kernel_log", "probe_passed"));
}

TEST_F(SilentDriver, ApplicationErrorTriggersNoProbe) {
  begin(kAnswers, kWell);
  admission_->error_logged({.device = "a", .rule = "i915:hang", .line = "GPU HANG", .next = "Read."}, "case",
                           true);
  admission_->error_logged({.device = "a",
                            .rule = "xid:63",
                            .by_machine = true,
                            .severity = Gravity::kNote,
                            .line = "",
                            .next = ""},
                           "case", true);
  leave();
  EXPECT_THAT(health_.found, ElementsAre());
}

TEST_F(SilentDriver, HangingTelemetryTriggersProbe) {
  begin(kAnswers, kWell);
  leave();
  EXPECT_THAT(health_.found, ElementsAre());
  admission_->suspect({"a"}, "it did not answer");
  leave();
  leave();
  EXPECT_THAT(health_.found, ElementsAre("unknown", "probe_passed"));
}

}  // namespace
}  // namespace proctor
