#include "harness/devices/simulation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/base/json.h"
#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

TEST(SimTopology, ParsesCardsAndTiles) {
  const auto both = parse_sim_topology("xpu:2x4,cuda:3");
  ASSERT_TRUE(both);
  ASSERT_EQ(both->xpu_cards(), 2);
  EXPECT_EQ(both->xpu_tiles(), 8);
  EXPECT_EQ(both->cuda_cards(), 3);
  EXPECT_EQ(both->text, "xpu:2x4,cuda:3");
}

// The grammar has its own tests. This test covers the messages for users.
TEST(SimTopology, ErrorsNameOptionAndValue) {
  const auto parsed = parse_sim_topology("xpuu:2x2");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(parsed.error().what, HasSubstr("--sim 'xpuu:2x2'"));
  EXPECT_THAT(parsed.error().hint, HasSubstr("xpu"));
}

class MachineFile : public testing::Test {
 protected:
  MachineFile() { std::ofstream(path_) << "[[xpu]]\ntiles = 2\n[[xpu]]\n"; }
  const TempDir directory_;
  const std::string path_ = directory_ / "cards.toml";
};

TEST_F(MachineFile, IsNamedInReportsAndPassedInline) {
  const auto simulation = parse_simulation(path_);
  ASSERT_TRUE(simulation) << simulation.error().what;
  EXPECT_EQ(to_sim_info(*simulation).topology, path_);
  EXPECT_EQ(simulation->topology.xpu_tiles(), 3);
  EXPECT_THAT(simgpu_environment(simulation->topology, {}).set,
              Contains(Pair("PROCTOR_SIM_TOPOLOGY", "[[xpu]]\ntiles = 2\n[[xpu]]\n")));
}

TEST_F(MachineFile, RejectsIntelDriver) {
  EXPECT_THAT(parse_simulation(path_ + ",driver=intel").error().what, HasSubstr("its own cards"));
}

TEST_F(MachineFile, ErrorsNameFileAndLine) {
  std::ofstream(path_) << "[[xpu]]\ntile = 2\n";
  const auto parsed = parse_sim_topology(path_);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(parsed.error().what, HasSubstr(path_ + ":2: "));
  EXPECT_THAT(parsed.error().hint, HasSubstr("`tiles`"));
  EXPECT_EQ(parse_sim_topology("/nowhere/cards.toml").error().kind, ErrorKind::kUsage);
}

TEST(SimDriver, ParsesIntelWithOptionalPrefix) {
  EXPECT_EQ(parse_sim_driver("intel")->prefix, "");
  EXPECT_EQ(parse_sim_driver("intel@/opt/neo")->prefix, "/opt/neo");
}

TEST(SimDriver, SimgpuIsTheDefault) {
  EXPECT_EQ(parse_sim_driver("simgpu")->kind, SimDriverKind::kSimgpu);
  EXPECT_EQ(parse_simulation("xpu:2x2")->driver.kind, SimDriverKind::kSimgpu);
  EXPECT_EQ(to_sim_info(*parse_simulation("xpu:2x2")).driver, "simgpu");
  EXPECT_EQ(to_sim_info(*parse_simulation("xpu:2x2,driver=intel")).driver, "intel");
}

TEST(SimDriver, RejectsUnknownDrivers) {
  EXPECT_THAT(parse_sim_driver("simgpu@/opt").error().what, HasSubstr("no directory"));
  EXPECT_THAT(parse_sim_driver("Intl").error().what, HasSubstr("'Intl'"));
  EXPECT_THAT(parse_sim_driver("intell").error().hint, HasSubstr("intel"));
  EXPECT_THAT(parse_sim_driver("intel@").error().what, HasSubstr("a directory after"));
  EXPECT_EQ(parse_sim_driver("").error().kind, ErrorKind::kUsage);
}

TEST(Simulation, ParsesDevicesBeforeSettings) {
  const auto simulation = parse_simulation("xpu:1x1:mem=1GiB,cuda:2,state=/tmp/a=b,driver=simgpu");
  ASSERT_TRUE(simulation) << simulation.error().what;
  EXPECT_EQ(simulation->topology.name, "xpu:1x1:mem=1GiB,cuda:2");
  EXPECT_EQ(simulation->state, "/tmp/a=b");
  EXPECT_EQ(parse_simulation("xpu:1x1")->state, "");
}

TEST(Simulation, RejectsBadSettingsByName) {
  const auto what = [](const char* text) { return parse_simulation(text).error().what; };
  EXPECT_THAT(parse_simulation("xpu:1x1,drvier=intel").error().hint, HasSubstr("`driver`"));
  EXPECT_THAT(what("xpu:1x1,drvier=intel"), HasSubstr("there is no 'drvier='"));
  EXPECT_THAT(what("xpu:1x1,state=a,state=b"), HasSubstr("state is given twice"));
  EXPECT_THAT(what("xpu:1x1,state="), HasSubstr("needs a directory"));
  EXPECT_THAT(what("xpu:1x1,driver="), HasSubstr("there is no driver ''"));
  EXPECT_THAT(what("driver=intel"), HasSubstr("no devices"));
  EXPECT_THAT(what("state=/tmp,xpu:1x1"), HasSubstr("no devices"));
  EXPECT_THAT(what("xpu:1x1,state=/a,b"), HasSubstr("'b' is neither"));
  EXPECT_THAT(what("xpu=1x1"), HasSubstr("unknown kind of device"));
  EXPECT_EQ(parse_simulation("xpu:1x1,state=").error().kind, ErrorKind::kUsage);
}

TEST(Simulation, IntelsDriverHasNoCudaDevices) {
  EXPECT_TRUE(parse_simulation("xpu:2x2,driver=intel"));
  EXPECT_EQ(parse_simulation("xpu:2x2,cuda:1,driver=intel").error().kind, ErrorKind::kUsage);
  EXPECT_TRUE(parse_simulation("xpu:2x2,cuda:1,driver=simgpu"));
}

TEST(Simulation, ReturnsBackendsOfCards) {
  EXPECT_THAT(backends_of(parse_simulation("xpu:2x2,cuda:1")->topology),
              ElementsAre(Backend::kXpu, Backend::kCuda));
  EXPECT_THAT(backends_of(parse_simulation("cuda:1")->topology), ElementsAre(Backend::kCuda));
}

TEST(CudaEnvironment, PutsSimulatedRuntimeFirst) {
  const TempDir temporary;
  const std::string directory = temporary.string();
  const auto topology = parse_simulation("cuda:2")->topology;
  EXPECT_EQ(cuda_environment(topology, {directory}).missing, "library_missing:cuda_sim/libcudart.so.13");
  std::filesystem::create_directories(directory + "/cuda_sim");
  std::ofstream(directory + "/cuda_sim/libcudart.so.13") << "x";
  const auto environment = cuda_environment(topology, {"/nowhere", directory});
  EXPECT_EQ(environment.missing, "");
  EXPECT_EQ(environment.library_directory, directory + "/cuda_sim");
  EXPECT_THAT(environment.set, Contains(Pair("PROCTOR_SIM_TOPOLOGY", "cuda:2")));
}

TEST(CudaEnvironment, KeepsCallerLibrariesAfterSimulation) {
  EXPECT_EQ(prepended("/sim", ""), "/sim");
  EXPECT_EQ(prepended("/sim", "/usr/x:/y"), "/sim:/usr/x:/y");
  EXPECT_EQ(prepended("", "/usr/x"), "/usr/x");
}

TEST(Simulation, IntelsDriverHasOnlyEqualCards) {
  EXPECT_TRUE(parse_simulation("xpu:1x2+2x1,driver=simgpu"));
  EXPECT_THAT(parse_simulation("xpu:1x2+2x1,driver=intel").error().what, HasSubstr("equal"));
}

TEST(Simulation, DevicesAreNamedByCard) {
  const auto devices = simulated_devices(*parse_simulation("xpu:3x2,driver=intel"));
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[2].id, "xpu-sim:2");
  EXPECT_EQ(devices[2].tiles, 2);
  EXPECT_TRUE(to_planned(devices[2]).simulated);
}

class DriverPrefix : public testing::Test {
 protected:
  void put(const std::string& path) const {
    std::filesystem::create_directories((root_ + "/" + path).substr(0, (root_ + "/" + path).rfind('/')));
    std::ofstream(root_ + "/" + path) << "x";
  }
  TempDir scratch_;
  const std::string root_ = scratch_.string();
};

TEST_F(DriverPrefix, FindsDriverAndPutsPathFirst) {
  put("usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1");
  put("usr/lib/x86_64-linux-gnu/libze_loader.so.1");
  const auto environment = intel_environment({2, 4}, {SimDriverKind::kIntel, root_}, "/mine");
  EXPECT_EQ(environment.missing, "");
  EXPECT_EQ(environment.driver_path, root_ + "/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1");
  EXPECT_THAT(environment.set, Contains(Pair("LD_LIBRARY_PATH", root_ + "/usr/lib/x86_64-linux-gnu:/mine")));
  EXPECT_THAT(environment.set, Contains(Pair("CreateMultipleRootDevices", "2")));
  EXPECT_THAT(environment.set, Contains(Pair("CreateMultipleSubDevices", "4")));
  EXPECT_THAT(environment.unset, Contains("ZE_AFFINITY_MASK"));
}

TEST_F(DriverPrefix, UsesBundledDynamicLoader) {
  for (const char* library : {"libze_intel_gpu.so.1", "libze_loader.so.1", kDynamicLoader}) {
    put(std::string("usr/lib64/") + library);
  }
  const auto environment = intel_environment({2, 4}, {SimDriverKind::kIntel, root_}, "/mine");
  EXPECT_EQ(environment.missing, "");
  ASSERT_EQ(environment.loader_words.size(), 3U);
  EXPECT_EQ(environment.loader_words[0], root_ + "/usr/lib64/" + kDynamicLoader);
  EXPECT_EQ(environment.loader_words[1], "--library-path");
  EXPECT_THAT(environment.loader_words[2], HasSubstr(root_ + "/usr/lib64"));
  EXPECT_THAT(environment.set,
              Contains(Pair("PROCTOR_LAUNCHER", nlohmann::json(environment.loader_words).dump())));
  EXPECT_THAT(environment.set, Not(Contains(Pair("LD_LIBRARY_PATH", testing::_))));
}

TEST_F(DriverPrefix, RequiresLevelZeroLoaderWithBundledLibc) {
  put("usr/lib64/libze_intel_gpu.so.1");
  put(std::string("usr/lib64/") + kDynamicLoader);
  EXPECT_EQ(intel_environment({1, 1}, {SimDriverKind::kIntel, root_}, "").missing,
            "library_missing:libze_loader.so.1");
}

TEST_F(DriverPrefix, ReportsMissingDriver) {
  EXPECT_EQ(intel_environment({1, 1}, {SimDriverKind::kIntel, root_}, "").missing,
            "library_missing:libze_intel_gpu.so.1");
}

TEST_F(DriverPrefix, PassesSimulatedDriverToLoader) {
  put("libproctor_ze_sim.so");
  const auto topology = *parse_sim_topology("xpu:2x2");
  auto environment = simgpu_environment(topology, {root_ + "/nothing", root_});
  EXPECT_EQ(environment.missing, "");
  EXPECT_FALSE(environment.whole);
  EXPECT_THAT(environment.set, Contains(Pair("ZE_ENABLE_ALT_DRIVERS", root_ + "/libproctor_ze_sim.so")));
  EXPECT_THAT(environment.set, Contains(Pair("PROCTOR_SIM_TOPOLOGY", "xpu:2x2")));
  EXPECT_THAT(environment.set, Contains(Pair("PROCTOR_SIM_DRIVER", "simgpu")));
  // a probe must not get the caller's own faults
  EXPECT_THAT(environment.unset, Contains("PROCTOR_SIM_FAULTS"));
  EXPECT_EQ(simgpu_environment(topology, {root_ + "/nothing"}).missing,
            "library_missing:libproctor_ze_sim.so");
}

TEST(SimSession, BindingReplacesPreviousBinding) {
  SimEnvironment environment;
  bind_session(environment, {.state = "/s1", .log = "/l1", .faults = "copy.short"});
  bind_session(environment, {.state = "/s2", .log = "/l2", .faults = ""});
  EXPECT_THAT(environment.set, testing::UnorderedElementsAre(Pair("PROCTOR_SIM_STATE", "/s2"),
                                                             Pair("PROCTOR_SIM_LOG", "/l2")));
}

}  // namespace
}  // namespace proctor
