// Tests the probe's monitor with the simulated driver, on cards with each entry point of Sysman.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/temp_dir.h"
#include "suites/accel/xpu/level_zero.h"
#include "suites/probe/probe_main.h"
#include "suites/probe/sysman_sampler.h"

namespace proctor::probe {
namespace {

using nlohmann::json;

struct Machine {
  std::string name, hierarchy;
  bool core_handles = true;
  std::size_t devices = 2;
};

std::string topology_of(const Machine& machine) {
  const std::string card = "[[xpu]]\ntiles = 2\nmemory = [\"4GiB\", \"2GiB\"]\n";
  return card + (machine.core_handles ? "" : "managed_by_core_handle = false\n");
}

void expect_snapshot(const json& snapshot, const Machine& machine) {
  ASSERT_EQ(snapshot.at("devices").size(), machine.devices) << snapshot;
  std::uint64_t total = 0;
  for (const json& device : snapshot.at("devices")) {
    EXPECT_EQ(device.at("state"), "ok") << snapshot;
    ASSERT_TRUE(device.at("memory").is_object()) << snapshot;
    EXPECT_TRUE(device.at("holders").is_array()) << snapshot;
    total += device.at("memory").at("total").get<std::uint64_t>();
  }
  EXPECT_EQ(total, std::uint64_t{6} << 30) << "each tile is one device's: " << snapshot;
}

void expect_sample(const json& sample, const Machine& machine) {
  ASSERT_EQ(sample.at("devices").size(), machine.devices) << sample;
  for (const json& device : sample.at("devices")) {
    for (const char* key :
         {"memory_used", "utilisation", "temperature", "power", "clock", "throttle", "ecc_errors"})
      EXPECT_TRUE(device.at("values").contains(key)) << key << " of " << device;
  }
}

void examine(const Machine& machine, const std::string& state) {
  setenv("ZE_ENABLE_ALT_DRIVERS", PROCTOR_BIN_DIR "/libproctor_ze_sim.so", 1);
  setenv("PROCTOR_SIM_TOPOLOGY", topology_of(machine).c_str(), 1);
  setenv("PROCTOR_SIM_STATE", state.c_str(), 1);
  setenv("ZE_FLAT_DEVICE_HIERARCHY", machine.hierarchy.c_str(), 1);
  const auto devices = open_xpu_devices();
  ASSERT_NE(devices, nullptr);
  expect_snapshot(devices->snapshot(), machine);
  devices->sample(~0ULL);  // a rate needs two samples
  expect_sample(devices->sample(~0ULL), machine);
  const json facts = devices->facts(machine.devices - 1);
  EXPECT_EQ(facts.at("values").at("pcie_width"), 16) << facts;
  EXPECT_EQ(facts.at("values").at("memory_health"), "ok") << facts;
}

class XpuDevices : public testing::TestWithParam<Machine> {};

TEST_P(XpuDevices, AreReadThroughSysman) {
  const TempDir state;
  // Level Zero reads the environment only once in a process.
  EXPECT_EXIT(
      {
        if (xpu::open_loader().loaded()) examine(GetParam(), state.string());
        _exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(
    Ways, XpuDevices,
    testing::Values(Machine{.name = "CoreHandle", .hierarchy = "COMPOSITE", .devices = 1},
                    Machine{
                        .name = "OwnHandle", .hierarchy = "COMPOSITE", .core_handles = false, .devices = 1},
                    Machine{.name = "CoreHandleOfATile", .hierarchy = "FLAT"},
                    Machine{.name = "OwnHandleOfATile", .hierarchy = "FLAT", .core_handles = false}),
    [](const auto& machine) { return machine.param.name; });

using testing::HasSubstr;

TEST(RateBetween, RequiresTwoIncreasingCounters) {
  std::string why;
  EXPECT_EQ(rate_between(Counter{100, 10}, Counter{150, 110}, why), 0.5);
  EXPECT_FALSE(rate_between(std::nullopt, Counter{150, 110}, why));
  EXPECT_THAT(why, HasSubstr("two samples"));
  EXPECT_FALSE(rate_between(Counter{100, 10}, Counter{99, 20}, why));
  EXPECT_THAT(why, HasSubstr("decreased"));
  EXPECT_FALSE(rate_between(Counter{100, 10}, Counter{150, 10}, why));
  EXPECT_THAT(why, HasSubstr("did not advance"));
}

}  // namespace
}  // namespace proctor::probe
