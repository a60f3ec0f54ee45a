#include "harness/machine/case_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/plan/kinds/proctor.h"
#include "harness/plan/kinds/pytest.h"

namespace proctor {
namespace {

using testing::Contains;
using testing::Each;
using testing::Not;
using testing::StartsWith;

Suite xpu_suite() {
  Suite suite;
  suite.name = "memory";
  suite.kind = &proctor_kind();
  suite.backend = Backend::kXpu;
  return suite;
}

// Two simulated cards, in the order that the probe found them.
std::vector<LeasedDevice> two_cards() {
  LeasedDevice first;
  first.id = "xpu-sim:0";
  first.ordinal = 0;
  LeasedDevice second;
  second.id = "xpu-sim:1";
  second.ordinal = 1;
  return {first, second};
}

SimEnvironment simulation(bool whole) {
  SimEnvironment environment;
  environment.set = {{"ZE_ENABLE_ALT_DRIVERS", "/lib/simulator.so"}, {"PROCTOR_SIM_TOPOLOGY", "xpu:2x2"}};
  environment.unset = whole ? std::vector<std::string>{"ZE_AFFINITY_MASK"} : std::vector<std::string>{};
  environment.whole = whole;
  return environment;
}

std::vector<std::string> environment_of(const std::optional<SimEnvironment>& simulation,
                                        const std::vector<std::string>& ids) {
  SimEnvironments simulations;
  if (simulation) simulations[Backend::kXpu] = *simulation;
  CaseEnvironments environments({{"PROCTOR_SIM_FAULTS", "copy.short"}, {"PATH", "/bin"}}, two_cards(),
                                std::move(simulations), "/tmp/x", "smoke");
  const auto environment = environments.of(xpu_suite(), ids);
  EXPECT_TRUE(environment) << environment.error().what;
  return environment ? *environment : std::vector<std::string>{};
}

TEST(CaseEnvironments, SimulatedCardsAreMaskedAsHardwareIs) {
  const auto environment = environment_of(simulation(false), {"xpu-sim:1"});
  EXPECT_THAT(environment, Contains("ZE_AFFINITY_MASK=1"));
  EXPECT_THAT(environment, Contains("ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE"));
  EXPECT_THAT(environment, Contains("ZE_ENABLE_PCI_ID_DEVICE_ORDER=1"));
  EXPECT_THAT(environment, Contains("ZE_ENABLE_ALT_DRIVERS=/lib/simulator.so"));
  EXPECT_THAT(environment_of(simulation(false), {"xpu-sim:0", "xpu-sim:1"}),
              Contains("ZE_AFFINITY_MASK=0,1"));
}

TEST(CaseEnvironments, ATopologyOfEachProcessIsNotMasked) {
  const auto environment = environment_of(simulation(true), {"xpu-sim:1"});
  EXPECT_THAT(environment, Each(Not(StartsWith("ZE_AFFINITY_MASK="))));
  EXPECT_THAT(environment, Contains("ZE_ENABLE_ALT_DRIVERS=/lib/simulator.so"));
}

TEST(CaseEnvironments, ACaseWithoutDevicesSeesNoSimulatedOne) {
  const auto environment = environment_of(simulation(false), {});
  EXPECT_THAT(environment, Each(Not(StartsWith("PROCTOR_SIM_"))));
  EXPECT_THAT(environment, Not(Contains("ZE_ENABLE_ALT_DRIVERS=/lib/simulator.so")));
}

// Both vendors are simulated in one run: a case reaches its own, and the other one is hidden from it.
TEST(CaseEnvironments, ACaseReachesOneVendorsSimulation) {
  auto devices = two_cards();
  LeasedDevice nvidia;
  nvidia.id = "cuda-sim:0";
  nvidia.uuid = "GPU-a";
  devices.push_back(nvidia);
  SimEnvironments simulations = {{Backend::kXpu, simulation(false)}, {Backend::kCuda, {}}};
  simulations[Backend::kCuda].library_directory = "/bin/cuda_sim";
  CaseEnvironments environments({{"LD_LIBRARY_PATH", "/caller"}}, devices, simulations, "/tmp/x", "ci");
  Suite suite = xpu_suite();
  const auto xpu = environments.of(suite, {"xpu-sim:0"});
  ASSERT_TRUE(xpu) << xpu.error().what;
  EXPECT_THAT(*xpu, Contains("ZE_ENABLE_ALT_DRIVERS=/lib/simulator.so"));
  EXPECT_THAT(*xpu, Contains("CUDA_VISIBLE_DEVICES="));
  EXPECT_THAT(*xpu, Contains("LD_LIBRARY_PATH=/caller"));
  suite.backend = Backend::kCuda;
  suite.env = {{"LD_LIBRARY_PATH", "/of/the/suite"}};
  const auto cuda = environments.of(suite, {"cuda-sim:0"});
  ASSERT_TRUE(cuda) << cuda.error().what;
  EXPECT_THAT(*cuda, Contains("CUDA_VISIBLE_DEVICES=GPU-a"));
  EXPECT_THAT(*cuda, Contains("LD_LIBRARY_PATH=/bin/cuda_sim:/of/the/suite"));
  EXPECT_THAT(*cuda, Contains(StartsWith("ZE_ENABLE_ALT_DRIVERS=/proc/")));
}

TEST(CaseEnvironments, OurSuitesGetTheSizeAndNoFaultsOfTheCaller) {
  const auto environment = environment_of(std::nullopt, {"xpu-sim:0"});
  EXPECT_THAT(environment, Contains("PROCTOR_SIZE=smoke"));
  EXPECT_THAT(environment, Each(Not(StartsWith("PROCTOR_SIM_FAULTS="))));
}

// So that a visibility check knows which other devices it may name in a mask.
TEST(CaseEnvironments, OurSuitesForCudaAreToldThePool) {
  std::vector<LeasedDevice> devices = two_cards();
  for (const char* uuid : {"GPU-a", "GPU-b"}) {
    LeasedDevice device;
    device.id = std::string("cuda:") + uuid;
    device.uuid = uuid;
    devices.push_back(device);
  }
  CaseEnvironments environments({}, devices, {}, "/tmp/x", "ci");
  Suite suite = xpu_suite();
  suite.backend = Backend::kCuda;
  const auto own = environments.of(suite, {"cuda:GPU-b"});
  ASSERT_TRUE(own) << own.error().what;
  EXPECT_THAT(*own, Contains("CUDA_VISIBLE_DEVICES=GPU-b"));
  EXPECT_THAT(*own, Contains("PROCTOR_POOL=" + devices_json({devices[2], devices[3]})));
  suite.name = "attention";
  suite.kind = &pytest_kind();
  const auto foreign = environments.of(suite, {"cuda:GPU-b"});
  ASSERT_TRUE(foreign) << foreign.error().what;
  EXPECT_THAT(*foreign, Each(Not(StartsWith("PROCTOR_POOL="))));
}

}  // namespace
}  // namespace proctor
