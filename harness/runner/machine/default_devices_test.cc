#include "harness/runner/machine/default_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr Backend kCuda = Backend::kCuda;
constexpr Backend kXpu = Backend::kXpu;

Suite undetermined() {
  Suite suite;
  suite.name = "s";
  suite.devices = -1;
  suite.devices_by = DevicesBy::kAuto;
  return suite;
}

DeviceSurroundings machine_with(const std::vector<Backend>& vendors) {
  return {.present = vendors, .discrete = vendors};
}

const NeededBackend kNeedsCuda{kCuda, "needs libcudart.so.13", true};
const NeededBackend kOpensCuda{kCuda, "opens libcuda.so.1", false};
const NeededBackend kNeedsXpu{kXpu, "needs libze_loader.so.1", true};

DefaultDevices defaults(SuiteRole role, const std::vector<NeededBackend>& needed,
                        const DeviceSurroundings& around, const Suite& suite = undetermined()) {
  auto found = default_devices(suite, role, needed, around);
  EXPECT_TRUE(found) << found.error().message();
  return found ? *std::move(found) : DefaultDevices{};
}

constexpr SuiteRole kEveryRole[] = {SuiteRole::kTestProgram, SuiteRole::kPytest, SuiteRole::kCommand};

TEST(DefaultDevices, UsesNoDeviceOnMachineWithoutDevices) {
  for (const SuiteRole role : kEveryRole) {
    const auto found = defaults(role, {}, machine_with({}));
    EXPECT_EQ(found.backend, Backend::kNone);
    EXPECT_EQ(found.devices, 0);
    EXPECT_THAT(found.warning, IsEmpty());
  }
}

TEST(DefaultDevices, ProgramGetsVendorOfLibrary) {
  for (const auto& library : {kNeedsCuda, kOpensCuda}) {
    const auto found = defaults(SuiteRole::kTestProgram, {library}, machine_with({kXpu, kCuda}));
    EXPECT_EQ(found.backend, kCuda);
    EXPECT_EQ(found.devices, 1);
    EXPECT_EQ(found.reason, library.why);
  }
  const auto both = defaults(SuiteRole::kTestProgram, {kNeedsCuda, kNeedsXpu}, machine_with({kXpu}));
  EXPECT_EQ(both.backend, kXpu) << "the machine has devices of only one of them";
}

TEST(DefaultDevices, ProgramWithoutLibraryGetsNoDevice) {
  const auto found = defaults(SuiteRole::kTestProgram, {}, machine_with({kCuda}));
  EXPECT_EQ(found.devices, 0);
  EXPECT_EQ(found.by, DevicesBy::kRule);
  EXPECT_EQ(found.reason, "the program needs no library of a GPU");
}

TEST(DefaultDevices, AbsentVendorCountsOnlyIfLinked) {
  EXPECT_EQ(defaults(SuiteRole::kTestProgram, {kNeedsCuda}, machine_with({kXpu})).backend, kCuda);
  EXPECT_EQ(defaults(SuiteRole::kTestProgram, {kOpensCuda}, machine_with({kXpu})).backend, Backend::kNone);
}

TEST(DefaultDevices, CommandGetsOneDiscreteDevice) {
  EXPECT_EQ(defaults(SuiteRole::kCommand, {}, machine_with({kCuda})).backend, kCuda);
  DeviceSurroundings laptop = machine_with({kXpu, kCuda});
  laptop.discrete = {kCuda};
  EXPECT_EQ(defaults(SuiteRole::kCommand, {}, laptop).backend, kCuda);
  laptop.discrete = {};
  EXPECT_EQ(defaults(SuiteRole::kCommand, {}, laptop).devices, 0) << "an integrated device is no default";
  EXPECT_EQ(defaults(SuiteRole::kCommand, {kNeedsXpu}, laptop).backend, kXpu) << "but a library's vendor is";
}

TEST(DefaultDevices, TwoDiscreteVendorsWarn) {
  const auto found = defaults(SuiteRole::kCommand, {}, machine_with({kXpu, kCuda}));
  EXPECT_EQ(found.devices, 0);
  EXPECT_THAT(found.warning, HasSubstr("add --backend cuda or --backend xpu"));
  EXPECT_THAT(defaults(SuiteRole::kTestProgram, {}, machine_with({kXpu, kCuda})).warning, IsEmpty());
}

TEST(DefaultDevices, PytestStaysUndetermined) {
  const auto one = defaults(SuiteRole::kPytest, {}, machine_with({kCuda}));
  EXPECT_EQ(one.by, DevicesBy::kAuto);
  EXPECT_EQ(one.backend, kCuda);
  EXPECT_EQ(one.devices, 1);
  const auto two = defaults(SuiteRole::kPytest, {}, machine_with({kXpu, kCuda}));
  EXPECT_EQ(two.by, DevicesBy::kAuto) << "a module may determine the vendor";
  EXPECT_EQ(two.devices, 0);
}

TEST(DefaultDevices, MaskPrecedesProgramAndMachine) {
  DeviceSurroundings around = machine_with({kXpu, kCuda});
  around.masks[kCuda] = "CUDA_VISIBLE_DEVICES=1";
  for (const SuiteRole role : kEveryRole) {
    const auto found = defaults(role, {}, around);
    EXPECT_EQ(found.backend, kCuda);
    EXPECT_EQ(found.devices, 1);
    EXPECT_EQ(found.by, DevicesBy::kRule);
    EXPECT_EQ(found.reason, "the caller's CUDA_VISIBLE_DEVICES=1");
    EXPECT_EQ(found.all, role == SuiteRole::kCommand) << "one command gets all that the caller named";
  }
  EXPECT_EQ(defaults(SuiteRole::kTestProgram, {kNeedsXpu}, around).backend, kXpu)
      << "a device of the other vendor is of no use to the program";
}

TEST(DefaultDevices, MaskOfAbsentVendorIsIgnored) {
  DeviceSurroundings around = machine_with({kXpu});
  around.masks[kCuda] = "CUDA_VISIBLE_DEVICES=0";
  EXPECT_EQ(defaults(SuiteRole::kCommand, {}, around).backend, kXpu);
  EXPECT_EQ(defaults(SuiteRole::kTestProgram, {}, around).devices, 0);
}

TEST(DefaultDevices, MasksOfBothVendorsWarn) {  // Slurm sets masks of both vendors
  DeviceSurroundings around = machine_with({kXpu, kCuda});
  around.masks = {{kCuda, "CUDA_VISIBLE_DEVICES=0"}, {kXpu, "ZE_AFFINITY_MASK=0"}};
  EXPECT_THAT(defaults(SuiteRole::kCommand, {}, around).warning, HasSubstr("both vendors"));
  EXPECT_EQ(defaults(SuiteRole::kTestProgram, {kNeedsCuda}, around).backend, kCuda);
}

TEST(DefaultDevices, SlurmJobWithoutDeviceUsesNoDevice) {
  DeviceSurroundings around = machine_with({kCuda});
  around.job_without_device = true;
  for (const SuiteRole role : {SuiteRole::kPytest, SuiteRole::kCommand}) {
    const auto found = defaults(role, {}, around);
    EXPECT_EQ(found.devices, 0);
    EXPECT_EQ(found.by, DevicesBy::kRule) << "what skips for want of one is not green";
  }
}

TEST(DefaultDevices, RanksUseNoDeviceByDefault) {
  DeviceSurroundings around = machine_with({kCuda});
  Suite suite = undetermined();
  suite.ranks = 4;
  EXPECT_EQ(defaults(SuiteRole::kCommand, {}, around, suite).devices, 0) << "four devices would skip it";
  around.masks[kCuda] = "CUDA_VISIBLE_DEVICES=0,1";
  EXPECT_EQ(defaults(SuiteRole::kCommand, {}, around, suite).devices, 0);
  around.named = {{kCuda, 2}};
  const auto named = defaults(SuiteRole::kCommand, {}, around, suite);
  EXPECT_EQ(named.devices, 1);
  EXPECT_FALSE(named.all) << "the number is that of each rank";
}

TEST(DefaultDevices, EmptyMaskSelectsNoDevice) {
  DeviceSurroundings around = machine_with({kCuda});
  around.hidden = {kCuda};
  for (const SuiteRole role : {SuiteRole::kPytest, SuiteRole::kCommand}) {
    const auto found = defaults(role, {}, around);
    EXPECT_EQ(found.devices, 0);
    EXPECT_EQ(found.by, DevicesBy::kWritten);
  }
  around = machine_with({kXpu, kCuda});
  around.hidden = {kXpu};
  EXPECT_EQ(defaults(SuiteRole::kCommand, {}, around).backend, kCuda);
}

TEST(DefaultDevices, WrittenValuesTakePrecedence) {
  DeviceSurroundings around = machine_with({kXpu, kCuda});
  around.masks[kCuda] = "CUDA_VISIBLE_DEVICES=1";
  Suite suite = undetermined();
  suite.devices = 0;
  for (const SuiteRole role : kEveryRole) {
    const auto none = defaults(role, {kNeedsCuda}, around, suite);
    EXPECT_EQ(none.devices, 0);
    EXPECT_EQ(none.by, DevicesBy::kWritten);
  }
  suite.devices = 3;
  const auto three = defaults(SuiteRole::kTestProgram, {}, around, suite);
  EXPECT_EQ(three.backend, kCuda);
  EXPECT_EQ(three.devices, 3);
  suite = undetermined();
  suite.hierarchy = "flat";
  EXPECT_EQ(defaults(SuiteRole::kTestProgram, {}, around, suite).backend, kXpu);
}

TEST(DefaultDevices, NamedDevicesDetermineVendor) {
  DeviceSurroundings around = machine_with({kXpu, kCuda});
  around.named = {{kCuda, 2}};
  EXPECT_EQ(defaults(SuiteRole::kTestProgram, {}, around).backend, kCuda);
  EXPECT_TRUE(defaults(SuiteRole::kCommand, {}, around).all);
  around.named = {{kCuda, 1}, {kXpu, 1}};
  EXPECT_FALSE(default_devices(undetermined(), SuiteRole::kCommand, {}, around));
}

using testing::ElementsAre;

// Two NVIDIA devices, and no Intel driver.
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

// Returns a plan with one suite per backend. Each suite has a case that needs one device.
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

TEST(DeviceShortage, IgnoresNeedsOfSuites) {
  EXPECT_THAT(lacks({Backend::kCuda, Backend::kXpu}, {}), IsEmpty());
}

TEST(DeviceShortage, RequestedBackendNeedsDevice) {
  EXPECT_THAT(lacks({Backend::kCuda, Backend::kNone}, {.backend = true}), IsEmpty());
  EXPECT_THAT(lacks({Backend::kXpu, Backend::kXpu}, {.backend = true}),
              ElementsAre("1 xpu device requested, 0 present (no_driver)"));
}

TEST(DeviceShortage, CountAppliesToEachBackend) {
  EXPECT_THAT(lacks({Backend::kCuda}, {.count = 2}), IsEmpty());
  EXPECT_THAT(
      lacks({Backend::kCuda, Backend::kXpu}, {.count = 3}),
      ElementsAre("3 cuda devices requested, 2 present", "3 xpu devices requested, 0 present (no_driver)"));
  EXPECT_THAT(lacks({Backend::kNone}, {.count = 0}), IsEmpty());
}

// The vendor of the requested device is unknown.
TEST(DeviceShortage, TextWithoutBackendNamesNoVendor) {
  EXPECT_EQ(to_string(DeviceShortage{.backend = "", .asked = 1, .present = 0, .why = ""}),
            "1 device requested, 0 present");
}

}  // namespace

}  // namespace proctor
