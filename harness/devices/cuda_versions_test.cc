#include "harness/devices/cuda_versions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "fixtures/simgpu/spec/card.h"

namespace proctor {
namespace {

using testing::HasSubstr;

int first_number(std::string_view version) {
  int number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

TEST(CudaVersions, TableIsSortedAndMatchesFamilies) {
  const auto rows = cuda_toolkit_drivers();
  std::set<std::string_view> toolkits;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_TRUE(toolkits.insert(rows[i].toolkit).second) << rows[i].toolkit;
    EXPECT_TRUE(rows[i].toolkit.starts_with(cuda_version_text(rows[i].cuda))) << rows[i].toolkit;
    EXPECT_GE(first_number(rows[i].driver), least_cuda_driver(rows[i].cuda / 1000)) << rows[i].toolkit;
    if (i == 0) continue;
    EXPECT_GE(rows[i - 1].cuda, rows[i].cuda) << rows[i].toolkit;
    EXPECT_GE(first_number(rows[i - 1].driver), first_number(rows[i].driver)) << rows[i].toolkit;
  }
}

// The versions of the simulated drivers are in the table.
TEST(CudaVersions, SimulatedDriversAreInTheTable) {
  for (const auto& simulated : simgpu::cuda_drivers()) {
    const auto rows = cuda_toolkit_drivers();
    EXPECT_TRUE(std::ranges::any_of(rows, [&](const CudaToolkitDriver& row) {
      return row.cuda == simulated.cuda && row.driver == simulated.release;
    })) << simulated.release;
  }
}

// Each runtime of the table on each driver of the table, compared with NVIDIA's rules.
TEST(CudaVersions, RelatesEachRuntimeToEachDriver) {
  for (const auto& runtime : cuda_toolkit_drivers()) {
    for (const auto& host : cuda_toolkit_drivers()) {
      const bool enough = first_number(host.driver) >= *least_cuda_driver(runtime.cuda / 1000);
      const auto expected = host.cuda >= runtime.cuda ? CudaRelation::kNative
                            : enough                  ? CudaRelation::kMinor
                                                      : CudaRelation::kTooOld;
      EXPECT_EQ(cuda_relation(runtime.cuda, host.driver, host.cuda), expected)
          << runtime.toolkit << " on " << host.driver;
      EXPECT_EQ(cuda_relation(runtime.cuda, host.driver, 0), expected)
          << runtime.toolkit << " on " << host.driver << ", without libcuda.so.1";
    }
  }
}

TEST(CudaVersions, DriverBelowMinimumIsTooOld) {
  for (const int major : {11, 12, 13}) {
    const int least = *least_cuda_driver(major);
    const std::string below = fmt::format("{}.999.99", least - 1);
    EXPECT_EQ(cuda_relation(major * 1000, below, 0), CudaRelation::kTooOld) << below;
  }
}

struct Host {
  int runtime;
  const char* driver;
  int cuda;
  CudaRelation relation;
};

TEST(CudaVersions, CombinesKernelDriverAndLibraryVersions) {
  const Host hosts[] = {
      // an image with cuda-compat on an old driver, and without
      {13000, "535.104.05", 13000, CudaRelation::kForward},
      {13000, "535.104.05", 12020, CudaRelation::kTooOld},
      // NVML is not in the container
      {13000, "", 13000, CudaRelation::kNative},
      {13010, "", 13000, CudaRelation::kMinor},
      {13000, "", 12090, CudaRelation::kTooOld},
      {13000, "", 0, CudaRelation::kUnknown},
      // a driver of the same branch, but older than the release with the runtime
      {13000, "580.40.01", 13000, CudaRelation::kMinor},
      // releases that are not in the table: the version that the library reports determines the result
      {14000, "700.10.01", 14000, CudaRelation::kNative},
      {13050, "610.10.01", 13050, CudaRelation::kNative},
      {13050, "580.95.05", 13000, CudaRelation::kMinor},
      {13050, "535.104.05", 12020, CudaRelation::kTooOld},
      {13000, "no number", 13000, CudaRelation::kNative},
      {0, "580.95.05", 13000, CudaRelation::kUnknown},
  };
  for (const Host& host : hosts) {
    EXPECT_EQ(cuda_relation(host.runtime, host.driver, host.cuda), host.relation)
        << host.runtime << " on '" << host.driver << "', " << host.cuda;
  }
}

TEST(CudaVersions, MessageNamesRequiredAndInstalledDriver) {
  EXPECT_EQ(needed_cuda_driver(13000, "535.104.05", 12020),
            "the CUDA Runtime 13.0 needs driver 580 or later; this one, 535.104.05, goes up to CUDA 12.2");
  EXPECT_THAT(needed_cuda_driver(14000, "", 0), HasSubstr("a newer driver"));
}

}  // namespace
}  // namespace proctor
