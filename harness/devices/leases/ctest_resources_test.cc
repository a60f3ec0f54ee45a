#include "harness/devices/leases/ctest_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/json.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kIds = {"xpu:0000:03:00.0", "xpu:0000:06:00.0"};

Device device(const std::string& backend, const std::string& id) {
  Device named;
  named.backend = backend;
  named.id = id;
  return named;
}

TEST(CtestResources, IdsAreThoseThatCtestAllows) {
  EXPECT_EQ(ctest_resource_spec({device("cuda", "cuda:GPU-AB12")}).dump(),
            R"({"local":[{"cuda_gpus":[{"id":"cuda_gpu_ab12","slots":1}],)"
            R"("gpus":[{"id":"cuda_gpu_ab12","slots":1}]}],"version":{"major":1,"minor":0}})");
}

TEST(CtestResources, ATestGetsDevicesOfItsBackendOnly) {
  const auto spec = ctest_resource_spec({device("xpu", kIds[0]), device("cuda", "cuda:GPU-AB12")});
  EXPECT_EQ(spec.dump(),
            R"({"local":[{"cuda_gpus":[{"id":"cuda_gpu_ab12","slots":1}],)"
            R"("xpu_gpus":[{"id":"xpu_0000_03_00_0","slots":1}]}],"version":{"major":1,"minor":0}})");
  EXPECT_THAT(**ctest_allocation({{"CTEST_RESOURCE_GROUP_0_XPU_GPUS", "id:xpu_0000_03_00_0,slots:1"}}, kIds),
              ElementsAre(kIds[0]));
}

TEST(CtestResources, WithoutAnAllocationAllDevicesAreAllowed) {
  EXPECT_EQ(*ctest_allocation({{"CTEST_RESOURCE_GROUP_COUNT", "0"}}, kIds), std::nullopt);
}

TEST(CtestResources, AllocatedDevicesAreFoundByName) {
  const Environment one = {{"CTEST_RESOURCE_GROUP_COUNT", "1"},
                           {"CTEST_RESOURCE_GROUP_0", "gpus"},
                           {"CTEST_RESOURCE_GROUP_0_GPUS", "id:xpu_0000_06_00_0,slots:1"}};
  EXPECT_THAT(**ctest_allocation(one, kIds), ElementsAre(kIds[1]));
  const Environment two = {
      {"CTEST_RESOURCE_GROUP_0_GPUS", "id:xpu_0000_06_00_0,slots:1;id:xpu_0000_03_00_0,slots:1"}};
  EXPECT_THAT(**ctest_allocation(two, kIds), ElementsAre(kIds[1], kIds[0]));
}

TEST(CtestResources, AnotherMachinesSpecificationIsRefused) {
  const auto refused = ctest_allocation({{"CTEST_RESOURCE_GROUP_0_GPUS", "id:0,slots:1"}}, kIds);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("no device '0'"));
}

}  // namespace
}  // namespace proctor
