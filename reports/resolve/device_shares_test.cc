#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/resolve/devices.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct DeviceTries {
  std::string device;
  int bad = 0;
  int good = 0;
};

PlannedDevice device(const std::string& id) {
  PlannedDevice device;
  device.id = id;
  device.backend = "xpu";
  return device;
}

// Each attempt is of a case of its own.
ResolvedRun cases_on(const std::vector<DeviceTries>& rows) {
  std::vector<PlannedCase> cases;
  std::vector<Event> events;
  std::vector<PlannedDevice> devices;
  for (const DeviceTries& row : rows) {
    devices.push_back(device(row.device));
    for (int i = 0; i < row.bad + row.good; ++i) {
      const std::string id = fmt::format("m.xpu/{}.{}", row.device, i);
      cases.push_back(planned(id));
      auto start = started(id);
      start.devices = {row.device};
      events.push_back(start);
      events.push_back(ended(id, {i < row.bad ? Outcome::kFail : Outcome::kPass, ""}));
    }
  }
  RunPlanned plan = plan_of(std::move(cases));
  plan.devices = std::move(devices);
  events.insert(events.begin(), plan);
  return resolved_of(events);
}

std::vector<std::string> doubts(const std::vector<DeviceTries>& rows) {
  std::vector<std::string> sentences;
  for (const DeviceDoubtText& doubt : cases_on(rows).device_doubts) sentences.push_back(doubt.sentence);
  return sentences;
}

TEST(DeviceShares, ADeviceThatFailsMoreOftenThanTheOthersStandsOut) {
  EXPECT_THAT(doubts({{"a", 6, 36}, {"b", 1, 40}, {"c", 0, 42}, {"d", 0, 42}}),
              ElementsAre("6 of 42 attempts failed on a, 1 of 125 elsewhere (p = 0.001)."));
}

TEST(DeviceShares, FailuresOnOneDeviceAloneAreADoubt) {
  EXPECT_THAT(doubts({{"a", 3, 7}, {"b", 0, 10}}), ElementsAre("All 3 failures ran only on a."));
}

TEST(DeviceShares, FailuresEverywhereSayNothingOfADevice) {
  EXPECT_THAT(doubts({{"a", 5, 5}, {"b", 4, 6}}), IsEmpty());
}

TEST(DeviceShares, OneFailureSaysNothingOfADevice) {
  EXPECT_THAT(doubts({{"a", 1, 9}, {"b", 0, 10}}), IsEmpty());
}

TEST(DeviceShares, TheOnlyDeviceIsNotDoubted) { EXPECT_THAT(doubts({{"a", 9, 1}}), IsEmpty()); }

// 8 bad attempts, but of one case.
TEST(DeviceShares, RetriesOfOneCaseAreNoMoreEvidence) {
  std::vector<Event> events;
  std::vector<PlannedCase> cases;
  for (int i = 0; i < 8; ++i) {
    const std::string id = fmt::format("m.xpu/Good.{}", i);
    cases.push_back(planned(id));
    auto start = started(id);
    start.devices = {i % 2 == 0 ? "a" : "b"};
    events.push_back(start);
    events.push_back(ended(id, {Outcome::kPass, ""}));
  }
  cases.push_back(planned("m.xpu/Bad"));
  for (int attempt = 1; attempt <= 8; ++attempt) {
    auto start = started("m.xpu/Bad", attempt);
    start.devices = {"a"};
    events.push_back(start);
    events.push_back(ended("m.xpu/Bad", {Outcome::kFail, ""}, attempt));
  }
  RunPlanned plan = plan_of(std::move(cases));
  plan.devices = {device("a"), device("b")};
  events.insert(events.begin(), plan);
  for (const DeviceShare& share : resolved_of(events).device_shares)
    EXPECT_FALSE(share.stands_out) << share.device;
  EXPECT_THAT(resolved_of(events).device_doubts, IsEmpty());
}

TEST(DeviceShares, ARunThatComparedDevicesAndOneOfExecHaveNoCommand) {
  RunPlanned plan = plan_of({});
  EXPECT_EQ(code_or_device_command(plan, "my runs/1"),
            "proctor rerun 'my runs/1' --failed --each-device --repeat 5");
  plan.rules.each_device = true;
  EXPECT_EQ(code_or_device_command(plan, "x"), "");
  plan.rules.each_device = false;
  plan.exec = true;
  EXPECT_EQ(code_or_device_command(plan, "x"), "");
}

}  // namespace
}  // namespace proctor
