#include "harness/devices/masks/visibility_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(VisibilityVariables, AreUniqueAndHaveReasons) {
  std::set<std::string> names;
  for (const VisibilityVariable& variable : visibility_variables()) {
    for (const std::string& name : all_names_of(variable)) {
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_EQ(find_visibility_variable(name), &variable) << name;
    }
    EXPECT_FALSE(variable.why.empty()) << variable.name;
  }
}

TEST(VisibilityVariables, IntelPrefixesTakePrecedence) {
  const VisibilityVariable* mask = find_visibility_variable("NEO_ZE_AFFINITY_MASK");
  ASSERT_NE(mask, nullptr);
  EXPECT_THAT(all_names_of(*mask),
              ElementsAre("NEO_L0_ZE_AFFINITY_MASK", "NEO_ZE_AFFINITY_MASK", "ZE_AFFINITY_MASK"));
  for (const char* none : {"NEO_CUDA_VISIBLE_DEVICES", "NEO_NEO_ZE_AFFINITY_MASK", "XZE_AFFINITY_MASK",
                           "NEO_", "ze_affinity_mask", "PATH", ""})
    EXPECT_EQ(find_visibility_variable(none), nullptr) << none;
}

// Each of these variables moved a case to another device, or could.
TEST(VisibilityVariables, TableContainsEveryKnownVariable) {
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
        "ZE_FLAT_DEVICE_HIERARCHY", "ZE_ENABLE_PCI_ID_DEVICE_ORDER", "ZE_ENABLE_ALT_DRIVERS",
        "ONEAPI_DEVICE_SELECTOR", "SYCL_DEVICE_FILTER", "SYCL_DEVICE_ALLOWLIST", "HIP_VISIBLE_DEVICES",
        "ROCR_VISIBLE_DEVICES", "NEO_L0_ZE_FLAT_DEVICE_HIERARCHY", "NEO_ZE_ENABLE_PCI_ID_DEVICE_ORDER"})
    EXPECT_NE(find_visibility_variable(name), nullptr) << name;
}

std::string vendor_of(const VisibilityVariable& variable) {
  if (variable.backend == Backend::kNone) return "AMD";
  return variable.backend == Backend::kCuda ? "NVIDIA" : "Intel";
}

// The table of the page must be the same.
TEST(VisibilityVariables, MatchTableInDocumentation) {
  std::ifstream file(std::string(PROCTOR_SOURCE_DIR) + "/docs/reference/devices.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const VisibilityVariable& variable : visibility_variables()) {
    std::string row = "| `" + std::string(variable.name) + "`" + (variable.prefixed ? " +" : "") + " | " +
                      vendor_of(variable) + " | " + std::string(variable.why) + " | " +
                      std::string(to_string(variable.caller)) + " |";
    EXPECT_THAT(page.str(), HasSubstr(row));
  }
}

}  // namespace
}  // namespace proctor
