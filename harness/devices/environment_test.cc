#include "harness/devices/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "harness/devices/masks/visibility_variables.h"

namespace proctor {
namespace {

using testing::HasSubstr;

LeasedDevice cuda_device(int ordinal, const std::string& uuid) {
  return {"cuda:" + uuid, uuid, "", ordinal, 1, {}};
}
LeasedDevice xpu_device(int ordinal, int tiles = 1) {
  return {"xpu:" + std::to_string(ordinal), "", "", ordinal, tiles, {}, ordinal * tiles};
}

VisibilityRequest request(Backend backend, std::vector<LeasedDevice> devices,
                          MaskMode mode = MaskMode::kUuid) {
  VisibilityRequest result;
  result.backend = backend;
  result.devices = std::move(devices);
  result.mode = mode;
  return result;
}

// Returns the environment of a child whose caller set both masks.
Environment planned(const VisibilityRequest& visibility) {
  Environment environment = {{"CUDA_VISIBLE_DEVICES", "3"},
                             {"ZE_AFFINITY_MASK", "2"},
                             {"NEO_ZE_AFFINITY_MASK", "1"},
                             {"NEO_L0_ZE_AFFINITY_MASK", "1"},
                             {"OTHER", "kept"}};
  const auto plan = plan_visibility(visibility);
  EXPECT_TRUE(plan.ok());
  apply(*plan, environment);
  return environment;
}

bool hides_cuda(const Environment& environment) {
  const auto mask = environment.find("CUDA_VISIBLE_DEVICES");
  return mask != environment.end() && mask->second.empty();
}

bool hides_xpu(const Environment& environment) {
  const auto driver = environment.find("ZE_ENABLE_ALT_DRIVERS");
  return driver != environment.end() && !driver->second.empty() && !std::filesystem::exists(driver->second);
}

const std::vector<LeasedDevice> kCudaPool = {cuda_device(0, "GPU-aaaa1111-0000-0000-0000-000000000000"),
                                             cuda_device(1, "GPU-aaaa2222-0000-0000-0000-000000000000"),
                                             cuda_device(2, "GPU-cccc3333-0000-0000-0000-000000000000")};

TEST(PlanVisibility, CudaByUuidHidesLevelZero) {
  const Environment environment = planned(request(Backend::kCuda, {kCudaPool[2], kCudaPool[0]}));
  EXPECT_EQ(environment.at("CUDA_VISIBLE_DEVICES"), kCudaPool[2].uuid + "," + kCudaPool[0].uuid);
  EXPECT_EQ(environment.count("CUDA_DEVICE_ORDER"), 0u);
  EXPECT_TRUE(hides_xpu(environment));
  EXPECT_EQ(environment.at("OTHER"), "kept");
}

TEST(PlanVisibility, CudaByIndexFixesTheOrder) {
  const Environment environment =
      planned(request(Backend::kCuda, {kCudaPool[2], kCudaPool[0]}, MaskMode::kIndex));
  EXPECT_EQ(environment.at("CUDA_VISIBLE_DEVICES"), "2,0");
  EXPECT_EQ(environment.at("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
}

TEST(PlanVisibility, XpuByOrdinalSetsHierarchyOfProbe) {
  VisibilityRequest visibility = request(Backend::kXpu, {xpu_device(3), xpu_device(1)});
  visibility.hierarchy = Hierarchy::kFlat;
  const Environment environment = planned(visibility);
  EXPECT_EQ(environment.at("ZE_AFFINITY_MASK"), "1,3") << "a card of one tile is its tile";
  EXPECT_EQ(environment.at("ZE_FLAT_DEVICE_HIERARCHY"), "FLAT");
  EXPECT_EQ(environment.at("ZE_ENABLE_PCI_ID_DEVICE_ORDER"), "1");
  EXPECT_EQ(environment.count("NEO_ZE_AFFINITY_MASK"), 0u);
  EXPECT_EQ(environment.count("NEO_L0_ZE_AFFINITY_MASK"), 0u);
  EXPECT_EQ(environment.count("ZE_ENABLE_ALT_DRIVERS"), 0u);
  EXPECT_TRUE(hides_cuda(environment));
}

TEST(PlanVisibility, XpuKeepsTileLimitOfCaller) {
  LeasedDevice device = xpu_device(1, 4);
  device.only_tiles = {1, 2};
  EXPECT_EQ(planned(request(Backend::kXpu, {device, xpu_device(0, 4)})).at("ZE_AFFINITY_MASK"), "0,1.1,1.2");
}

// If tiles are the devices, a card has as many ordinals as tiles, counted over all cards of the machine.
TEST(PlanVisibility, TilesAreCountedOverAllCards) {
  LeasedDevice part = xpu_device(2, 4);
  part.only_tiles = {1, 3};
  for (const Hierarchy hierarchy : {Hierarchy::kFlat, Hierarchy::kCombined}) {
    VisibilityRequest visibility = request(Backend::kXpu, {part, xpu_device(1, 4)});
    visibility.hierarchy = hierarchy;
    const Environment environment = planned(visibility);
    EXPECT_EQ(environment.at("ZE_AFFINITY_MASK"), "4,5,6,7,9,11");
    EXPECT_EQ(environment.at("ZE_FLAT_DEVICE_HIERARCHY"), to_string(hierarchy));
    visibility.devices[0].first_leaf = -1;
    EXPECT_FALSE(plan_visibility(visibility)) << "nobody knows which ordinals are its tiles";
  }
}

Environment everything_of(const std::string& value) {
  Environment environment = {{"OTHER", "kept"}};
  for (const VisibilityVariable& variable : visibility_variables()) {
    for (const std::string& name : all_names_of(variable)) environment[name] = value;
  }
  return environment;
}

// A case that sees devices gets the values of the runner and of the setup, whatever the caller set.
TEST(PlanVisibility, CallerCannotChangeVisibilityOfCase) {
  for (const Backend backend : {Backend::kCuda, Backend::kXpu}) {
    const bool cuda = backend == Backend::kCuda;
    Environment environment = everything_of("1");
    const auto plan = plan_visibility(request(backend, {cuda ? kCudaPool[2] : xpu_device(0)}));
    ASSERT_TRUE(plan);
    apply(*plan, environment);
    for (const VisibilityVariable& variable : visibility_variables()) {
      for (const std::string& name : all_names_of(variable)) {
        const bool may_stay =
            name == variable.name && (variable.caller == CallerValue::kKept || variable.backend != backend);
        const auto found = environment.find(name);
        const bool is_callers = found != environment.end() && found->second == "1";
        const bool is_ours = name == kXpuOrderVariable;  // the runner's value happens to be 1
        EXPECT_TRUE(may_stay || is_ours || !is_callers) << name << " of " << to_string(backend);
      }
    }
    EXPECT_EQ(environment.count("ONEAPI_DEVICE_SELECTOR"), 0u);
    EXPECT_EQ(environment.count("NEO_L0_ZE_FLAT_DEVICE_HIERARCHY"), 0u);
    EXPECT_EQ(environment.at("HIP_VISIBLE_DEVICES"), "1") << "clearing a mask of others would widen it";
    EXPECT_EQ(environment.at("OTHER"), "kept");
  }
}

// A program without leased devices may use devices that no run leases, as its caller selects them.
TEST(PlanVisibility, SetsOnlyHidingVariablesWithoutDevices) {
  Environment environment = everything_of("opencl:cpu");
  const auto plan = plan_visibility(request(Backend::kNone, {}));
  ASSERT_TRUE(plan);
  apply(*plan, environment);
  EXPECT_EQ(environment.at("ONEAPI_DEVICE_SELECTOR"), "opencl:cpu");
  EXPECT_TRUE(hides_cuda(environment));
  EXPECT_TRUE(hides_xpu(environment));
}

std::map<std::string, EnvironmentVariable> effective(const Environment& child, const Environment& caller,
                                                     const std::vector<VariableChange>& plan,
                                                     const std::vector<std::string>& simulated = {}) {
  std::map<std::string, EnvironmentVariable> by_name;
  for (auto& entry : effective_variables(child, caller, plan, simulated)) by_name[entry.name] = entry;
  return by_name;
}

TEST(EffectiveVariables, NameSourceOfEachValue) {
  const Environment caller = {{"ZE_AFFINITY_MASK", "0,1"},
                              {"ONEAPI_DEVICE_SELECTOR", "level_zero:1"},
                              {"HIP_VISIBLE_DEVICES", "3"},
                              {"NEO_ZE_AFFINITY_MASK", "0"},
                              {"PATH", "/bin"}};
  Environment child = caller;
  const auto plan = *plan_visibility(request(Backend::kXpu, {xpu_device(1)}));
  apply(plan, child);
  child["ZE_ENABLE_ALT_DRIVERS"] = "/sim.so";
  const auto all = effective(child, caller, plan, {"ZE_ENABLE_ALT_DRIVERS"});
  const auto is = [&](const std::string& name, const std::optional<std::string>& value,
                      const std::string& by) {
    return all.contains(name) && all.at(name).value == value && all.at(name).by == by;
  };
  EXPECT_TRUE(is("ZE_AFFINITY_MASK", "1", "proctor"));
  EXPECT_TRUE(is("NEO_ZE_AFFINITY_MASK", std::nullopt, "proctor"));
  EXPECT_TRUE(is("CUDA_VISIBLE_DEVICES", "", "proctor")) << "empty is not unset";
  EXPECT_TRUE(is("ONEAPI_DEVICE_SELECTOR", std::nullopt, "proctor"));
  EXPECT_TRUE(is("HIP_VISIBLE_DEVICES", "3", "caller"));
  EXPECT_TRUE(is("ZE_ENABLE_ALT_DRIVERS", "/sim.so", "simulation"));
  EXPECT_FALSE(all.contains("SYCL_DEVICE_FILTER")) << "nobody has said anything of it";
  EXPECT_FALSE(all.contains("PATH"));
}

TEST(EffectiveVariables, AlwaysIncludeDeviceMasks) {
  const auto all = effective({}, {}, {});
  ASSERT_EQ(all.size(), 2u);
  for (const auto& [name, entry] : all) {
    EXPECT_EQ(entry.value, std::nullopt) << name;
    EXPECT_EQ(entry.by, "none") << name;
  }
}

TEST(DescribeCleared, NamesRemovedCallerVariables) {
  EXPECT_THAT(describe_cleared({{"ONEAPI_DEVICE_SELECTOR", "level_zero:1"}, {"ZE_AFFINITY_MASK", "0"}}),
              testing::ElementsAre(HasSubstr("ONEAPI_DEVICE_SELECTOR=level_zero:1 of the caller")))
      << "what the mask leaves is said elsewhere";
  EXPECT_THAT(describe_cleared({{"CUDA_DEVICE_ORDER", "FASTEST_FIRST"}}),
              testing::ElementsAre(HasSubstr("replaced     CUDA_DEVICE_ORDER=FASTEST_FIRST")));
  EXPECT_TRUE(describe_cleared({{"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"}}).empty()) << "every case gets that";
  EXPECT_TRUE(describe_cleared({}).empty());
}

// No mask can express this filter, so the run would lease devices that the filter excludes.
TEST(CheckCaller, RejectsFiltersThatMasksCannotExpress) {
  const Environment caller = {{"NEO_FilterBdfPath", "0000:03:00.0"}};
  ASSERT_FALSE(check_caller(Backend::kXpu, caller));
  EXPECT_EQ(check_caller(Backend::kXpu, caller).error().kind, ErrorKind::kUsage);
  EXPECT_THAT(check_caller(Backend::kXpu, caller).error().what, HasSubstr("NEO_FilterBdfPath"));
  EXPECT_TRUE(check_caller(Backend::kCuda, caller));
  EXPECT_TRUE(check_caller(Backend::kXpu, {{"ONEAPI_DEVICE_SELECTOR", "level_zero:1"}}));
}

TEST(PlanVisibility, SimulatedIntelWithoutLeaseIsUnmasked) {
  VisibilityRequest visibility = request(Backend::kXpu, {});
  visibility.simulated_intel = true;
  const Environment environment = planned(visibility);
  EXPECT_EQ(environment.count("ZE_AFFINITY_MASK"), 0u);
  EXPECT_EQ(environment.count("NEO_ZE_AFFINITY_MASK"), 0u);
  EXPECT_EQ(environment.count("ZE_ENABLE_ALT_DRIVERS"), 0u);
  EXPECT_TRUE(hides_cuda(environment));
}

TEST(PlanVisibility, WithoutDevicesBothVendorsAreHidden) {
  for (const Backend backend : {Backend::kNone, Backend::kCuda, Backend::kXpu}) {
    const Environment environment = planned(request(backend, {}));
    EXPECT_TRUE(hides_cuda(environment));
    EXPECT_TRUE(hides_xpu(environment));
  }
}

TEST(PlanVisibility, NeverHidesLevelZeroByAMask) {
  // '' selects all devices, and a mask that selects nothing crashes Intel's 26.27 driver.
  for (const Backend backend : {Backend::kNone, Backend::kCuda, Backend::kXpu}) {
    const auto plan = plan_visibility(request(backend, {}));
    ASSERT_TRUE(plan);
    for (const VariableChange& change : *plan) {
      EXPECT_NE(change.name, "ZE_AFFINITY_MASK");
      EXPECT_FALSE(change.why.empty());
    }
  }
}

TEST(PlanVisibility, RejectsLeaseThatMasksCannotExpress) {
  EXPECT_FALSE(plan_visibility(request(Backend::kCuda, {cuda_device(0, "")})));
  EXPECT_TRUE(plan_visibility(request(Backend::kCuda, {cuda_device(0, "")}, MaskMode::kIndex)));
  EXPECT_FALSE(plan_visibility(request(Backend::kCuda, {cuda_device(-1, "GPU-1")}, MaskMode::kIndex)));
  EXPECT_FALSE(plan_visibility(request(Backend::kXpu, {xpu_device(-1)})));
  const auto twice = plan_visibility(request(Backend::kXpu, {xpu_device(1), xpu_device(1)}));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().kind, ErrorKind::kInternal);
  EXPECT_THAT(twice.error().what, HasSubstr("both '1'"));
}

TEST(CallerMask, PrefixedNamesTakePrecedence) {
  EXPECT_EQ(caller_mask(Backend::kXpu, {}), std::nullopt);
  EXPECT_EQ(caller_mask(Backend::kXpu, {{"ZE_AFFINITY_MASK", ""}}), "");
  EXPECT_EQ(caller_mask(Backend::kXpu, {{"ZE_AFFINITY_MASK", "0"}, {"NEO_ZE_AFFINITY_MASK", "1"}}), "1");
  EXPECT_EQ(caller_mask(Backend::kXpu, {{"NEO_L0_ZE_AFFINITY_MASK", "2"}, {"NEO_ZE_AFFINITY_MASK", "1"}}),
            "2");
  EXPECT_EQ(caller_mask(Backend::kCuda, {{"CUDA_VISIBLE_DEVICES", "1"}, {"ZE_AFFINITY_MASK", "0"}}), "1");
  EXPECT_EQ(caller_mask(Backend::kNone, {{"CUDA_VISIBLE_DEVICES", "1"}}), std::nullopt);
}

std::vector<int> narrowed_ordinals(const std::vector<LeasedDevice>& pool, const std::string& mask) {
  const auto left = narrow_cuda_pool(pool, mask, CallerOrdinals::kSameAsProbe);
  EXPECT_TRUE(left.ok()) << mask;
  std::vector<int> ordinals;
  for (const LeasedDevice& device : *left) ordinals.push_back(device.ordinal);
  return ordinals;
}

TEST(NarrowPool, CudaMaskFollowsProgrammingGuide) {
  const auto narrowed = [](const std::string& mask) { return narrowed_ordinals(kCudaPool, mask); };
  EXPECT_EQ(narrowed(""), (std::vector<int>{}));
  EXPECT_EQ(narrowed("-1"), (std::vector<int>{}));
  EXPECT_EQ(narrowed("2,0"), (std::vector<int>{2, 0}));
  EXPECT_EQ(narrowed("0,-1,1"), (std::vector<int>{0}));
  EXPECT_EQ(narrowed("0,9,1"), (std::vector<int>{0}));
  EXPECT_EQ(narrowed("GPU-cccc,GPU-aaaa1"), (std::vector<int>{2, 0}));
  EXPECT_EQ(narrowed("GPU-aaaa"), (std::vector<int>{}));
  EXPECT_EQ(narrowed("GPU-cccc,GPU-ffff,GPU-aaaa1"), (std::vector<int>{2}));
}

TEST(NarrowPool, CudaMatchesDevicesByIdentityNotPosition) {
  const std::vector<LeasedDevice> shuffled = {kCudaPool[2], kCudaPool[0]};
  EXPECT_EQ(narrowed_ordinals(shuffled, "GPU-aaaa1"), (std::vector<int>{0}));
  EXPECT_EQ(narrowed_ordinals(shuffled, "2"), (std::vector<int>{2}));
}

TEST(CallerHierarchy, ParsesVariablesLikeDriver) {
  const auto of = [](const Environment& caller) { return caller_hierarchy(caller); };
  EXPECT_EQ(*of({}), std::nullopt);
  EXPECT_EQ(*of({{"ZE_FLAT_DEVICE_HIERARCHY", "FLAT"}}), Hierarchy::kFlat);
  EXPECT_EQ(*of({{"ZE_FLAT_DEVICE_HIERARCHY", "FLAT"}, {"NEO_L0_ZE_FLAT_DEVICE_HIERARCHY", "COMBINED"}}),
            Hierarchy::kCombined);
  const auto bad = of({{"ZE_FLAT_DEVICE_HIERARCHY", "flat"}});
  ASSERT_FALSE(bad) << "the driver would ignore it";
  EXPECT_EQ(bad.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(bad.error().what, HasSubstr("ZE_FLAT_DEVICE_HIERARCHY"));
}

TEST(CheckMask, ABadMaskIsAUsageError) {
  EXPECT_TRUE(check_mask(Backend::kXpu, "9")) << "which devices there are is not known yet";
  const auto bad = check_mask(Backend::kXpu, "0;1");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(bad.error().what, HasSubstr("ZE_AFFINITY_MASK '0;1'"));
  EXPECT_EQ(bad.error().hint, "Did you mean '0,1'?");
}

TEST(NarrowPool, RejectsOrdinalsWithAmbiguousOrder) {
  const auto narrow = [](const std::string& mask, const std::vector<LeasedDevice>& pool) {
    return narrow_cuda_pool(pool, mask, CallerOrdinals::kUnknown);
  };
  ASSERT_FALSE(narrow("1", kCudaPool));
  EXPECT_THAT(narrow("1", kCudaPool).error().hint, HasSubstr("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  EXPECT_TRUE(narrow("0", {kCudaPool[0]}));  // one card has only one order
  EXPECT_TRUE(narrow("", kCudaPool));
  EXPECT_TRUE(narrow("GPU-cccc", kCudaPool));
}

TEST(BaseEnvironment, ProctorSuitesGetStrictEnvironment) {
  const Environment caller = {{"PATH", "/bin"},    {"HOME", "/root"}, {"LANG", "de_DE"},
                              {"LC_ALL", "tr_TR"}, {"TZ", "Asia"},    {"TMPDIR", "/elsewhere"},
                              {"SECRET", "s"},     {"RANK", "3"},     {"LD_LIBRARY_PATH", "/l"}};
  const auto environment = base_environment(/*strict=*/true, caller, "/tmp/p1");
  ASSERT_TRUE(environment);
  EXPECT_EQ(*environment, (Environment{{"PATH", "/bin"},
                                       {"HOME", "/root"},
                                       {"LD_LIBRARY_PATH", "/l"},
                                       {"LC_ALL", "C.UTF-8"},
                                       {"TZ", "UTC"},
                                       {"TMPDIR", "/tmp/p1"}}));
}

TEST(BaseEnvironment, OtherSuitesDropRankAndCiVariables) {
  Environment caller = {
      {"LANG", "de_DE"}, {"TMPDIR", "/elsewhere"}, {"HF_HOME", "/cache"}, {"CUDA_VISIBLE_DEVICES", ""}};
  const Environment expected = caller;
  for (const std::string& name : rank_variables()) caller[name] = "1";
  for (const std::string& name : channel_variables()) caller[name] = "/step/file";
  for (const char* name :
       {"GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY", "GITHUB_STATE"})
    EXPECT_TRUE(caller.contains(name)) << name;
  EXPECT_EQ(*base_environment(/*strict=*/false, caller, "/tmp/p1"), expected);
}

TEST(BaseEnvironment, RejectsScratchPathTooLongForSockets) {
  EXPECT_TRUE(base_environment(/*strict=*/true, {}, "/" + std::string(29, 'a')));
  EXPECT_FALSE(base_environment(/*strict=*/true, {}, "/" + std::string(30, 'a')));
  EXPECT_FALSE(base_environment(/*strict=*/true, {}, "relative"));
  EXPECT_FALSE(base_environment(/*strict=*/true, {}, ""));
}

TEST(BaseEnvironment, StrictEnvironmentKeepsLoaderLayersOnly) {
  const Environment layers = {{"ZE_ENABLE_LOADER_INTERCEPT", "1"},
                              {"ZE_ENABLE_PARAMETER_VALIDATION", "1"},
                              {"ZE_ENABLE_VALIDATION_LAYER", "1"}};
  Environment caller = layers;
  caller["ZE_ENABLE_NULL_DRIVER"] = "1";
  caller["ZEL_DRIVERS_ORDER"] = "DISCRETE_GPU_ONLY";
  const auto environment = base_environment(/*strict=*/true, caller, "/tmp/p1");
  ASSERT_TRUE(environment);
  for (const auto& [name, value] : layers) EXPECT_EQ(environment->at(name), value);
  EXPECT_FALSE(environment->contains("ZE_ENABLE_NULL_DRIVER"));
  EXPECT_FALSE(environment->contains("ZEL_DRIVERS_ORDER"));
}

TEST(BaseEnvironment, NoMaskIsOnTheAllowList) {
  for (const std::string& name : strict_allow_list()) {
    EXPECT_EQ(name.find("VISIBLE_DEVICES"), std::string::npos);
    EXPECT_EQ(name.find("AFFINITY_MASK"), std::string::npos);
    EXPECT_EQ(std::count(rank_variables().begin(), rank_variables().end(), name), 0);
  }
}

TEST(ReadEnvironment, KeepsTheFirstDefinitionAndAnyValue) {
  const char* const envp[] = {"A=1", "A=2", "B=x=y", "C=", "broken", "=odd", nullptr};
  const Environment environment = read_environment(envp);
  EXPECT_EQ(environment, (Environment{{"A", "1"}, {"B", "x=y"}, {"C", ""}}));
  EXPECT_EQ(to_list(environment), (std::vector<std::string>{"A=1", "B=x=y", "C="}));
}

TEST(ParseMaskMode, SuggestsNearestMode) {
  EXPECT_EQ(*parse_mask_mode("uuid"), MaskMode::kUuid);
  EXPECT_EQ(*parse_mask_mode("index"), MaskMode::kIndex);
  EXPECT_EQ(parse_mask_mode("indx").error().hint, "Did you mean `index`?");
}

TEST(UnmaskXpu, DropsEveryNameThatTheDriverReads) {
  Environment environment{{"ZE_AFFINITY_MASK", "0"},
                          {"NEO_ZE_AFFINITY_MASK", "1"},
                          {"NEO_L0_ZE_FLAT_DEVICE_HIERARCHY", "FLAT"},
                          {"NEO_ZE_ENABLE_PCI_ID_DEVICE_ORDER", "0"},
                          {"ZEL_DRIVERS_ORDER", "1,0"},
                          {"ZE_ENABLE_ALT_DRIVERS", "/opt/driver.so"},
                          {"PATH", "/bin"}};
  unmask_xpu(environment, Hierarchy::kComposite);
  EXPECT_EQ(environment, (Environment{{"PATH", "/bin"},
                                      {"ZE_ENABLE_ALT_DRIVERS", "/opt/driver.so"},
                                      {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"},
                                      {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"}}));
}

}  // namespace
}  // namespace proctor
