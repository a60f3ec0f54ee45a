#include "reports/resolve/devices.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kId = "memory.xpu/A.B";

struct Attempts {
  std::string device;
  int bad = 0;
  int good = 0;
};

ResolvedRun model_with(const std::vector<Attempts>& rows, int devices_of_case = 1,
                       const std::vector<Event>& more = {}) {
  PlannedCase test = planned(kId);
  test.devices = devices_of_case;
  RunPlanned plan = plan_of({test});
  plan.rules.each_device = true;
  std::vector<Event> events = {plan};
  int repeat = 0;
  const auto add = [&](const std::string& device, Outcome outcome) {
    auto start = started(kId, 1, ++repeat);
    start.devices = {device};
    events.push_back(start);
    events.push_back(ended(kId, {outcome, ""}, 1, repeat));
  };
  for (const auto& row : rows) {
    for (int i = 0; i < row.bad; ++i) add(row.device, Outcome::kFail);
    for (int i = 0; i < row.good; ++i) add(row.device, Outcome::kPass);
  }
  events.insert(events.end(), more.begin(), more.end());
  return resolved_of(events);
}

DeviceRow row_of(const std::vector<Attempts>& rows, const std::vector<Event>& more = {}) {
  const ResolvedRun run = model_with(rows, 1, more);
  return run.cases[0].by_device ? *run.cases[0].by_device : DeviceRow();
}

// Fisher's own example: of 8 cups of tea, 4 of each kind, all or 3 of 4 are identified correctly.
TEST(DeviceTable, ChanceIsHypergeometricTail) {
  EXPECT_THAT(chance_of_so_many(4, 4, 4, 8), DoubleNear(1.0 / 70, 1e-12));
  EXPECT_THAT(chance_of_so_many(3, 4, 4, 8), DoubleNear(17.0 / 70, 1e-12));
  EXPECT_THAT(chance_of_so_many(0, 4, 4, 8), DoubleNear(1, 1e-12));
  EXPECT_THAT(chance_of_so_many(25, 25, 25, 100), testing::AllOf(testing::Gt(0), testing::Lt(1e-20)));
}

TEST(DeviceTable, FailureOnOneCardIsDeviceFault) {
  const auto row = row_of({{"a", 0, 25}, {"b", 25, 0}, {"c", 0, 25}, {"d", 0, 25}});
  EXPECT_EQ(row.suspect, Suspect::kDevice);
  EXPECT_THAT(row.devices, ElementsAre("b"));
  EXPECT_EQ(row.counts.at("b").bad, 25);
  EXPECT_EQ(row.counts.at("a").good, 25);
}

// One bad attempt among 51 is within chance, but the unhealthy card is at fault anyway.
TEST(DeviceTable, UnhealthyCardIsSuspectAtAnyRate) {
  EXPECT_EQ(row_of({{"a", 1, 0}, {"b", 0, 25}, {"c", 0, 25}}).suspect, Suspect::kUnclear);
  const std::vector<Attempts> rows = {{"a", 1, 0}, {"b", 0, 25}, {"c", 0, 25}};
  const std::vector<Event> unhealthy = {AttemptSuspected{kId, 1, 1, "a", "wrong bytes"}};
  EXPECT_EQ(row_of(rows, unhealthy).suspect, Suspect::kDevice);
  EXPECT_THAT(row_of(rows, unhealthy).devices, ElementsAre("a"));
  EXPECT_THAT(device_table(model_with(rows, 1, unhealthy)), HasSubstr("a: found unhealthy"));
}

TEST(DeviceTable, FailureOnAllCardsIsCode) {
  EXPECT_EQ(row_of({{"a", 25, 0}, {"b", 25, 0}}).suspect, Suspect::kCode);
  EXPECT_EQ(row_of({{"a", 3, 22}, {"b", 5, 20}}).suspect, Suspect::kCode) << "flaky, but everywhere";
}

TEST(DeviceTable, FewFailuresAreUnclear) {
  EXPECT_EQ(row_of({{"a", 1, 0}, {"b", 0, 1}}).suspect, Suspect::kUnclear);
  EXPECT_EQ(row_of({{"a", 1, 24}, {"b", 0, 25}}).suspect, Suspect::kUnclear);
  EXPECT_EQ(row_of({{"a", 25, 0}}).suspect, Suspect::kUnclear) << "there is no other device";
  EXPECT_EQ(row_of({{"a", 0, 25}, {"b", 0, 25}}).suspect, Suspect::kNone);
}

TEST(DeviceTable, FlakyCodeDoesNotHideWorseCard) {
  const auto row = row_of({{"a", 2, 23}, {"b", 25, 0}});
  EXPECT_EQ(row.suspect, Suspect::kDevice);
  EXPECT_THAT(row.devices, ElementsAre("b"));
  EXPECT_THAT(device_table(model_with({{"a", 2, 23}, {"b", 25, 0}})), HasSubstr(", and elsewhere too"));
}

// The set also contains the healthy partner of a bad device.
TEST(DeviceTable, DeviceSetIsNeverAtFault) {
  const std::vector<Attempts> rows = {{"a+b", 25, 0}, {"b+c", 0, 25}};
  EXPECT_TRUE(model_with(rows).cases[0].fault_of_devices);
  EXPECT_FALSE(model_with(rows, 2).cases[0].fault_of_devices);
}

TEST(DeviceTable, IgnoresUnexecutedAttempts) {
  auto start = started(kId);
  start.devices = {"a"};
  RunPlanned plan = plan_of({planned(kId)});
  plan.rules.each_device = true;
  const auto run = resolved_of({plan, start, ended(kId, {Outcome::kSkip, {Reason::kNeeds, "fp64"}})});
  EXPECT_FALSE(run.cases[0].by_device);
  EXPECT_EQ(device_table(run), "");
}

TEST(DeviceTable, TextNamesEachDeviceAndTheConclusion) {
  EXPECT_EQ(device_table(model_with({{"a", 0, 25}, {"b", 25, 0}})),
            "memory.xpu/A.B\n"
            "  a                                            0 of 25    failed\n"
            "  b                                           25 of 25    failed\n"
            "  -> b: it fails there more often than chance explains (p = 8e-15)\n");
  EXPECT_EQ(device_table(model_with({{"a", 3, 2}})), "") << "one device is no table";
}

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

// Each attempt belongs to another case.
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

std::vector<std::string> suspicions(const std::vector<DeviceTries>& rows) {
  std::vector<std::string> sentences;
  for (const DeviceSuspicionText& suspicion : cases_on(rows).device_suspicions)
    sentences.push_back(suspicion.sentence);
  return sentences;
}

TEST(DeviceShares, DeviceWithHigherFailureRateStandsOut) {
  EXPECT_THAT(suspicions({{"a", 6, 36}, {"b", 1, 40}, {"c", 0, 42}, {"d", 0, 42}}),
              ElementsAre("6 of 42 attempts failed on a, 1 of 125 elsewhere (p = 0.001)."));
}

TEST(DeviceShares, FailuresOnOneDeviceAreReported) {
  EXPECT_THAT(suspicions({{"a", 3, 7}, {"b", 0, 10}}), ElementsAre("All 3 failures ran only on a."));
}

TEST(DeviceShares, FailuresEverywhereAreNotReported) {
  EXPECT_THAT(suspicions({{"a", 5, 5}, {"b", 4, 6}}), IsEmpty());
}

TEST(DeviceShares, SingleFailureIsNotReported) {
  EXPECT_THAT(suspicions({{"a", 1, 9}, {"b", 0, 10}}), IsEmpty());
}

TEST(DeviceShares, SingleDeviceIsNotReported) { EXPECT_THAT(suspicions({{"a", 9, 1}}), IsEmpty()); }

// 8 bad attempts of one case.
TEST(DeviceShares, RetriesCountAsOneFailure) {
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
    EXPECT_FALSE(share.is_outlier) << share.device;
  EXPECT_THAT(resolved_of(events).device_suspicions, IsEmpty());
}

TEST(DeviceShares, ExecAndEachDeviceHaveNoCommand) {
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
