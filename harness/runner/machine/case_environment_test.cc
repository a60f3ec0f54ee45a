#include "harness/runner/machine/case_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "harness/frameworks/gtest.h"
#include "harness/frameworks/proctor.h"
#include "harness/frameworks/pytest.h"

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

// Two simulated cards, in the order of the probe.
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
                                std::move(simulations), "/tmp/x", {.size = "smoke", .seed = 7, .point = ""});
  const auto environment = environments.of(xpu_suite(), ids);
  EXPECT_TRUE(environment) << environment.error().what;
  return environment ? environment->variables : std::vector<std::string>{};
}

TEST(CaseEnvironments, MaskSimulatedCardsLikeHardware) {
  const auto environment = environment_of(simulation(false), {"xpu-sim:1"});
  EXPECT_THAT(environment, Contains("ZE_AFFINITY_MASK=1"));
  EXPECT_THAT(environment, Contains("ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE"));
  EXPECT_THAT(environment, Contains("ZE_ENABLE_PCI_ID_DEVICE_ORDER=1"));
  EXPECT_THAT(environment, Contains("ZE_ENABLE_ALT_DRIVERS=/lib/simulator.so"));
  EXPECT_THAT(environment_of(simulation(false), {"xpu-sim:0", "xpu-sim:1"}),
              Contains("ZE_AFFINITY_MASK=0,1"));
}

TEST(CaseEnvironments, DoNotMaskPerProcessTopology) {
  const auto environment = environment_of(simulation(true), {"xpu-sim:1"});
  EXPECT_THAT(environment, Each(Not(StartsWith("ZE_AFFINITY_MASK="))));
  EXPECT_THAT(environment, Contains("ZE_ENABLE_ALT_DRIVERS=/lib/simulator.so"));
}

TEST(CaseEnvironments, CaseWithoutDevicesSeesNoSimulation) {
  const auto environment = environment_of(simulation(false), {});
  EXPECT_THAT(environment, Each(Not(StartsWith("PROCTOR_SIM_"))));
  EXPECT_THAT(environment, Not(Contains("ZE_ENABLE_ALT_DRIVERS=/lib/simulator.so")));
}

// Both vendors are simulated in one run. A case sees the devices of its vendor, and those of the other one are hidden.
TEST(CaseEnvironments, CaseSeesOnlySimulationOfOwnVendor) {
  auto devices = two_cards();
  LeasedDevice nvidia;
  nvidia.id = "cuda-sim:0";
  nvidia.uuid = "GPU-a";
  devices.push_back(nvidia);
  SimEnvironments simulations = {{Backend::kXpu, simulation(false)}, {Backend::kCuda, {}}};
  simulations[Backend::kCuda].library_directory = "/bin/cuda_sim";
  CaseEnvironments environments({{"LD_LIBRARY_PATH", "/caller"}}, devices, simulations, "/tmp/x", {});
  Suite suite = xpu_suite();
  const auto xpu = environments.of(suite, {"xpu-sim:0"});
  ASSERT_TRUE(xpu) << xpu.error().what;
  EXPECT_THAT(xpu->variables, Contains("ZE_ENABLE_ALT_DRIVERS=/lib/simulator.so"));
  EXPECT_THAT(xpu->variables, Contains("CUDA_VISIBLE_DEVICES="));
  EXPECT_THAT(xpu->variables, Contains("LD_LIBRARY_PATH=/caller"));
  suite.backend = Backend::kCuda;
  suite.env = {{"LD_LIBRARY_PATH", "/of/the/suite"}};
  const auto cuda = environments.of(suite, {"cuda-sim:0"});
  ASSERT_TRUE(cuda) << cuda.error().what;
  EXPECT_THAT(cuda->variables, Contains("CUDA_VISIBLE_DEVICES=GPU-a"));
  EXPECT_THAT(cuda->variables, Contains("LD_LIBRARY_PATH=/bin/cuda_sim:/of/the/suite"));
  EXPECT_THAT(cuda->variables, Contains(StartsWith("ZE_ENABLE_ALT_DRIVERS=/proc/")));
}

TEST(CaseEnvironments, ProctorSuitesReceiveSizeWithoutFaults) {
  const auto environment = environment_of(std::nullopt, {"xpu-sim:0"});
  EXPECT_THAT(environment, Contains("PROCTOR_SIZE=smoke"));
  EXPECT_THAT(environment, Each(Not(StartsWith("PROCTOR_SIM_FAULTS="))));
}

// A variable of a suite, even one that selects devices, cannot show another device.
TEST(CaseEnvironments, VisibilityOverridesSuiteVariables) {
  CaseEnvironments environments({{"ONEAPI_DEVICE_SELECTOR", "level_zero:1"}}, two_cards(),
                                {{Backend::kXpu, simulation(false)}}, "/tmp/x", {});
  Suite suite = xpu_suite();
  suite.env = {{"ZE_AFFINITY_MASK", "0"},
               {"NEO_L0_ZE_AFFINITY_MASK", "0"},
               {"ZE_ENABLE_ALT_DRIVERS", "/mine.so"},
               {"CUDA_VISIBLE_DEVICES", "0"},
               {"MINE", "kept"}};
  for (const Kind* kind : {&proctor_kind(), &pytest_kind()}) {
    suite.kind = kind;
    suite.name = kind->name();
    const auto environment = environments.of(suite, {"xpu-sim:1"});
    ASSERT_TRUE(environment) << environment.error().what;
    EXPECT_THAT(environment->variables, Contains("ZE_AFFINITY_MASK=1"));
    EXPECT_THAT(environment->variables, Contains("CUDA_VISIBLE_DEVICES="));
    EXPECT_THAT(environment->variables, Contains("ZE_ENABLE_ALT_DRIVERS=/lib/simulator.so"));
    EXPECT_THAT(environment->variables, Contains("MINE=kept"));
    EXPECT_THAT(environment->variables, Each(Not(StartsWith("NEO_"))));
    EXPECT_THAT(environment->variables, Each(Not(StartsWith("ONEAPI_DEVICE_SELECTOR="))));
  }
}

// The hierarchy is the value of the suite, else of the caller, else composite.
TEST(CaseEnvironments, HierarchyPrecedenceIsSuiteThenCaller) {
  auto cards = two_cards();
  for (int i = 0; i < 2; ++i) {
    cards[static_cast<std::size_t>(i)].tiles = 2;
    cards[static_cast<std::size_t>(i)].first_leaf = 2 * i;
  }
  const auto variables = [&](const Environment& caller, const std::string& hierarchy) {
    CaseEnvironments environments(caller, cards, {}, "/tmp/x", {});
    Suite suite = xpu_suite();
    suite.hierarchy = hierarchy;
    const auto environment = environments.of(suite, {"xpu-sim:1"});
    EXPECT_TRUE(environment) << environment.error().what;
    return environment ? environment->variables : std::vector<std::string>{};
  };
  const Environment combined = {{"ZE_FLAT_DEVICE_HIERARCHY", "COMBINED"}};
  EXPECT_THAT(variables({}, ""), Contains("ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE"));
  EXPECT_THAT(variables(combined, ""), Contains("ZE_FLAT_DEVICE_HIERARCHY=COMBINED"));
  EXPECT_THAT(variables(combined, ""), Contains("ZE_AFFINITY_MASK=2,3"));
  EXPECT_THAT(variables(combined, "composite"), Contains("ZE_AFFINITY_MASK=1"));
  EXPECT_THAT(variables({}, "flat"), Contains("ZE_AFFINITY_MASK=2,3"));
}

TEST(CaseEnvironments, RecordSourceOfVisibilityVariables) {
  CaseEnvironments environments({{"ZE_AFFINITY_MASK", "0,1"}}, two_cards(),
                                {{Backend::kXpu, simulation(false)}}, "/tmp/x", {});
  const auto environment = environments.of(xpu_suite(), {"xpu-sim:1"});
  ASSERT_TRUE(environment) << environment.error().what;
  std::map<std::string, EnvironmentVariable> said;
  for (const auto& variable : environment->visibility) said[variable.name] = variable;
  EXPECT_EQ(said["ZE_AFFINITY_MASK"].value, "1");
  EXPECT_EQ(said["ZE_AFFINITY_MASK"].by, "proctor");
  EXPECT_EQ(said["ZE_ENABLE_ALT_DRIVERS"].by, "simulation");
  // The process has each of these variables.
  for (const auto& [name, variable] : said) {
    if (variable.value) {
      EXPECT_THAT(environment->variables, Contains(name + "=" + *variable.value));
    } else {
      EXPECT_THAT(environment->variables, Each(Not(StartsWith(name + "="))));
    }
  }
}

// A visibility check needs to know which other devices it may name in a mask.
TEST(CaseEnvironments, CudaSuitesReceiveDevicePool) {
  std::vector<LeasedDevice> devices = two_cards();
  for (const char* uuid : {"GPU-a", "GPU-b"}) {
    LeasedDevice device;
    device.id = std::string("cuda:") + uuid;
    device.uuid = uuid;
    devices.push_back(device);
  }
  CaseEnvironments environments({}, devices, {}, "/tmp/x", {});
  Suite suite = xpu_suite();
  suite.backend = Backend::kCuda;
  const auto own = environments.of(suite, {"cuda:GPU-b"});
  ASSERT_TRUE(own) << own.error().what;
  EXPECT_THAT(own->variables, Contains("CUDA_VISIBLE_DEVICES=GPU-b"));
  EXPECT_THAT(own->variables, Contains("PROCTOR_POOL=" + devices_json({devices[2], devices[3]})));
  suite.name = "attention";
  suite.kind = &pytest_kind();
  const auto foreign = environments.of(suite, {"cuda:GPU-b"});
  ASSERT_TRUE(foreign) << foreign.error().what;
  EXPECT_THAT(foreign->variables, Each(Not(StartsWith("PROCTOR_POOL="))));
}

// Every program with a device receives the cap. Frameworks receive it in the variables that they document.
TEST(CaseEnvironments, PassMemoryCapToFrameworks) {
  LeasedDevice card;
  card.id = "cuda-sim:0";
  card.uuid = "GPU-a";
  card.memory_bytes = 3ull << 30;
  CaseEnvironments environments({{"CUPY_GPU_MEMORY_LIMIT", "1"}, {"XLA_CLIENT_MEM_FRACTION", "0.9"}}, {card},
                                {}, "/tmp/x", {});
  Suite suite = xpu_suite();
  suite.kind = &pytest_kind();
  suite.backend = Backend::kCuda;
  suite.mem_cap = 1ull << 30;
  const auto capped = environments.of(suite, {"cuda-sim:0"});
  ASSERT_TRUE(capped) << capped.error().what;
  EXPECT_THAT(capped->variables, Contains("PROCTOR_MEM_CAP=1073741824"));
  EXPECT_THAT(capped->variables, Contains("CUPY_GPU_MEMORY_LIMIT=1073741824"));
  EXPECT_THAT(capped->variables, Contains("XLA_PYTHON_CLIENT_MEM_FRACTION=0.333333333"));
  // JAX refuses both names together.
  EXPECT_THAT(capped->variables, Each(Not(StartsWith("XLA_CLIENT_MEM_FRACTION="))));
  const auto reported = std::ranges::find(capped->visibility, "PROCTOR_MEM_CAP", &EnvironmentVariable::name);
  ASSERT_NE(reported, capped->visibility.end());
  EXPECT_EQ(reported->value, "1073741824");
  EXPECT_EQ(reported->by, "proctor");
}

TEST(CaseEnvironments, SmallMemoryCapIsNotZero) {
  LeasedDevice card;
  card.id = "cuda-sim:0";
  card.uuid = "GPU-a";
  card.memory_bytes = 288ull << 30;
  CaseEnvironments environments({}, {card}, {}, "/tmp/x", {});
  Suite suite = xpu_suite();
  suite.backend = Backend::kCuda;
  suite.mem_cap = 1ull << 20;
  const auto capped = environments.of(suite, {"cuda-sim:0"});
  ASSERT_TRUE(capped) << capped.error().what;
  EXPECT_THAT(capped->variables, Contains("XLA_PYTHON_CLIENT_MEM_FRACTION=0.000003390"));
}

TEST(CaseEnvironments, CaseWithoutDeviceHasNoMemoryCap) {
  CaseEnvironments environments({}, two_cards(), {}, "/tmp/x", {});
  Suite suite = xpu_suite();
  suite.mem_cap = 1ull << 30;
  const auto none = environments.of(suite, {});
  ASSERT_TRUE(none) << none.error().what;
  EXPECT_THAT(none->variables, Each(Not(StartsWith("PROCTOR_MEM_CAP="))));
}

using testing::ElementsAre;
using testing::IsEmpty;

Suite pytest_suite() {
  Suite suite;
  suite.name = "t";
  suite.kind = &pytest_kind();
  return suite;
}

// Returns entries of the form "NAME=VALUE by covered_by".
std::vector<std::string> reported(const Suite& suite, const Environment& caller, const Environment& child) {
  std::vector<std::string> all;
  for (const auto& one : narrowing_variables(suite, caller, to_list(child), "/share/pytest"))
    all.push_back(one.name + "=" + one.value + " " + one.by + " " + one.covered_by);
  return all;
}

TEST(SuiteNarrowing, ReportsVariablesOfProcesses) {
  const Environment caller = {{"PATH", "/bin"}, {"PYTEST_ADDOPTS", "--trace"}, {"PYTHONOPTIMIZE", "1"}};
  EXPECT_THAT(reported(pytest_suite(), caller, caller),
              ElementsAre("PYTEST_ADDOPTS=--trace caller ", "PYTHONOPTIMIZE=1 caller "));
  EXPECT_THAT(reported(pytest_suite(), caller, {{"PATH", "/bin"}}), IsEmpty()) << "it was taken away";
}

TEST(SuiteNarrowing, SuiteVariablesBelongToPlan) {
  Suite suite = pytest_suite();
  suite.env = {{"PYTHONOPTIMIZE", "2"}, {"MODE", "fast"}};
  EXPECT_THAT(reported(suite, {{"PYTHONOPTIMIZE", "1"}}, suite.env),
              ElementsAre("PYTHONOPTIMIZE=2 suite plan"));
}

TEST(SuiteNarrowing, IgnoresVariablesOfProctorAndSimulation) {
  Suite suite = pytest_suite();
  suite.env = {{"PYTHONPATH", "/share/pytest"}};
  EXPECT_THAT(reported(suite, {}, {{"PYTHONPATH", "/share/pytest"}, {"LD_LIBRARY_PATH", "/sim"}}), IsEmpty());
  suite.env = {{"PYTHONPATH", "/share/pytest:/own"}};
  EXPECT_THAT(reported(suite, {{"PYTHONPATH", "/own"}, {"LD_LIBRARY_PATH", "/lib"}},
                       {{"PYTHONPATH", "/share/pytest:/own"}, {"LD_LIBRARY_PATH", "/sim:/lib"}}),
              ElementsAre("LD_LIBRARY_PATH=/lib caller ", "PYTHONPATH=/own caller plan"));
}

TEST(SuiteNarrowing, IgnoresValuesWithoutEffect) {
  Suite suite = pytest_suite();
  suite.kind = &gtest_kind();
  suite.env = {{"GTEST_FAIL_FAST", "0"}, {"GTEST_SHUFFLE", "1"}};
  EXPECT_THAT(reported(suite, {}, suite.env), ElementsAre("GTEST_SHUFFLE=1 suite plan"));
}

TEST(SuiteNarrowing, DescribesVariableWithSuites) {
  EXPECT_THAT(
      describe_narrowing({{"a", "none", "LD_PRELOAD", "/x y.so", "caller", ""},
                          {"b", "none", "LD_PRELOAD", "/x y.so", "caller", ""}}),
      ElementsAre(
          "  variable     LD_PRELOAD='/x y.so' (caller) may change what a, b runs, or how it judges"));
}

}  // namespace

}  // namespace proctor
