#include "harness/runner/machine/device_shortage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two NVIDIA devices and no driver of Intel's.
FoundDevices with_nvidia() {
  FoundDevices devices;
  for (const char* id : {"cuda:GPU-1", "cuda:GPU-2"}) {
    PoolDevice entry;
    entry.device.id = id;
    entry.device.backend = "cuda";
    devices.pool.push_back(entry);
  }
  devices.unusable["xpu"] = "no_driver";
  return devices;
}

// One suite for each, with a case that needs one device.
Plan plan_of(const std::vector<Backend>& backends) {
  Plan plan;
  for (const Backend backend : backends) {
    Suite suite;
    suite.backend = backend;
    Case test;
    test.suite = plan.suites.size();
    test.devices = backend == Backend::kNone ? 0 : 1;
    plan.suites.push_back(std::move(suite));
    plan.cases.push_back(std::move(test));
  }
  return plan;
}

std::vector<std::string> lacks(const std::vector<Backend>& backends, const AskedDevices& asked) {
  std::vector<std::string> texts;
  for (const DeviceShortage& lack : device_shortages(plan_of(backends), with_nvidia(), asked))
    texts.push_back(to_string(lack));
  return texts;
}

TEST(DeviceShortage, WhatOnlyASuiteNeedsIsNone) {
  EXPECT_THAT(lacks({Backend::kCuda, Backend::kXpu}, {}), IsEmpty());
}

TEST(DeviceShortage, ABackendThatWasAskedForNeedsADevice) {
  EXPECT_THAT(lacks({Backend::kCuda, Backend::kNone}, {.backend = true}), IsEmpty());
  EXPECT_THAT(lacks({Backend::kXpu, Backend::kXpu}, {.backend = true}),
              ElementsAre("1 xpu device requested, 0 present (no_driver)"));
}

TEST(DeviceShortage, ANumberIsThatOfEachBackend) {
  EXPECT_THAT(lacks({Backend::kCuda}, {.count = 2}), IsEmpty());
  EXPECT_THAT(
      lacks({Backend::kCuda, Backend::kXpu}, {.count = 3}),
      ElementsAre("3 cuda devices requested, 2 present", "3 xpu devices requested, 0 present (no_driver)"));
  EXPECT_THAT(lacks({Backend::kNone}, {.count = 0}), IsEmpty());
}

// Nobody knows which vendor's device was meant.
TEST(DeviceShortage, WithoutABackendItCountsAll) {
  EXPECT_EQ(to_string(DeviceShortage{.backend = "", .asked = 1, .present = 0, .why = ""}),
            "1 device requested, 0 present");
}

}  // namespace
}  // namespace proctor
