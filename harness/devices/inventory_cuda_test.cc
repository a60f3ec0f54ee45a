// The inventory of machines without a usable driver. The real CUDA Runtime runs over a libcuda.so.1 that
// fails on request (fixtures/cuda_driver_stub), and over a simulated NVML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/devices/inventory.h"
#include "harness/process/containment.h"

namespace proctor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

constexpr const char* kHost = R"({"v":1,"problem":"","detail":"","driver":"580.95.05","cuda":13000,
  "library":"/x/libcuda.so.580.95.05","nvml":{"problem":"","version":"13.580.95.05"},
  "runtime":{"problem":"","detail":"","path":"/x/libcudart.so.13","version":13000,"code":""},
  "devices":[{"name":"A","uuid":"GPU-aa","pci":"0000:17:00.0","device_id":9008,"memory_bytes":7,
              "capability":"9.0","integrated":false,"ordinal":1},
             {"name":"B","uuid":"MIG-bb","pci":"0000:8a:00.0","device_id":9008,"memory_bytes":8,
              "capability":"9.0","integrated":false,"ordinal":-1}]})";

TEST(ParseCudaProbe, DevicesAreNamedByUuid) {
  const auto inventory = parse_probe(Backend::kCuda, kHost);
  ASSERT_TRUE(inventory) << inventory.error().what;
  EXPECT_EQ(inventory->words(), "");
  EXPECT_EQ(inventory->driver_file, "/x/libcuda.so.580.95.05");
  ASSERT_EQ(inventory->devices.size(), 2u);
  const Device& first = inventory->devices[0];
  EXPECT_EQ(first.id, "cuda:GPU-aa");
  EXPECT_EQ(first.uuid, "GPU-aa");
  EXPECT_EQ(first.backend, "cuda");
  EXPECT_EQ(first.ordinal, 1);
  EXPECT_EQ(first.capability, "9.0");
  EXPECT_EQ(first.memory_bytes, 7u);
  EXPECT_EQ(inventory->devices[1].id, "cuda:MIG-bb");
  EXPECT_EQ(inventory->devices[1].ordinal, -1);
}

TEST(ParseCudaProbe, StackReportsDriverAndRuntimeCompatibility) {
  const auto stack = parse_probe(Backend::kCuda, kHost)->stack;
  EXPECT_THAT(stack, Contains(Pair("cuda.driver", "580.95.05")));
  EXPECT_THAT(stack, Contains(Pair("cuda.api", "13.0")));
  EXPECT_THAT(stack, Contains(Pair("cuda.runtime", "13.0")));
  EXPECT_THAT(stack, Contains(Pair("cuda.compatibility", "native")));
}

// A container in CDI mode starts on any driver, so the probe compares the versions itself.
TEST(ParseCudaProbe, DetectsTooOldDriverByVersions) {
  const auto inventory = parse_probe(
      Backend::kCuda, R"({"v":1,"problem":"","driver":"535.104.05","cuda":12020,"runtime":{"version":13000},
                          "devices":[{"uuid":"GPU-a"}]})");
  ASSERT_TRUE(inventory) << inventory.error().what;
  EXPECT_EQ(inventory->problem, "") << "programs with a runtime of their own may use the device";
  EXPECT_EQ(inventory->runtime_problem, "driver_too_old:12.2<13.0");
  EXPECT_THAT(inventory->runtime_detail, HasSubstr("needs driver 580 or later; this one, 535.104.05,"));
}

TEST(ParseCudaProbe, RejectsInvalidDocuments) {
  for (const char* text :
       {"", "[]", R"({"v":1,"cuda":"x"})", R"({"v":1,"runtime":3})", R"({"v":1,"devices":[{"uuid":7}]})"}) {
    EXPECT_FALSE(parse_probe(Backend::kCuda, text)) << text;
  }
}

class CudaProbe : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Containment::open(std::nullopt, "cuda-probe-test-" + std::to_string(getpid()));
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = *std::move(opened);
  }
  Inventory probe(const std::string& library_path, std::vector<std::string> env = {}) {
    env.insert(env.end(), {"PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=" + library_path});
    return probe_devices(Backend::kCuda, *containment_,
                         {.probe = PROCTOR_BIN_DIR "/proctor-probe-cuda", .env = std::move(env)});
  }
  std::unique_ptr<Containment> containment_;
};

#ifdef PROCTOR_REAL_CUDART
constexpr const char* kReal = PROCTOR_REAL_CUDART;

struct FailingDriver {
  const char* name;
  std::vector<std::string> env;
  const char* problem;
};
std::string name_of_case(const testing::TestParamInfo<FailingDriver>& info) { return info.param.name; }

class RealRuntime : public CudaProbe, public testing::WithParamInterface<FailingDriver> {};

TEST_P(RealRuntime, ReportsReasonForNoDevice) {
  const auto inventory = probe(std::string(PROCTOR_CUDA_DRIVER_STUB ":") + kReal, GetParam().env);
  EXPECT_EQ(inventory.problem, GetParam().problem);
  EXPECT_NE(inventory.detail, "");
  EXPECT_TRUE(inventory.devices.empty());
  EXPECT_THAT(inventory.stack, Contains(Pair("cuda.runtime", testing::_)));
}

INSTANTIATE_TEST_SUITE_P(
    Stub, RealRuntime,
    testing::Values(
        FailingDriver{"NoDevice", {"PROCTOR_STUB_CUDA_INIT=100"}, "no_device"},
        FailingDriver{"InvalidDevice", {"PROCTOR_STUB_CUDA_INIT=101"}, "init:cudaErrorInvalidDevice"},
        FailingDriver{"SystemNotReady", {"PROCTOR_STUB_CUDA_INIT=802"}, "init:cudaErrorSystemNotReady"},
        FailingDriver{"DriverMismatch", {"PROCTOR_STUB_CUDA_INIT=803"}, "init:cudaErrorSystemDriverMismatch"},
        FailingDriver{
            "CompatNotSupported", {"PROCTOR_STUB_CUDA_INIT=804"}, "init:cudaErrorCompatNotSupportedOnDevice"},
        FailingDriver{"Unknown", {"PROCTOR_STUB_CUDA_INIT=999"}, "init:cudaErrorUnknown"},
        FailingDriver{
            "OldDriver", {"PROCTOR_STUB_CUDA_VERSION=11080"}, "driver_too_old:11.8<" PROCTOR_REAL_CUDA}),
    name_of_case);

TEST_F(CudaProbe, ReportsMissingDriver) {
  const auto inventory = probe(kReal);
  if (inventory.stack.size() > 1) GTEST_SKIP() << "this machine has a driver";
  EXPECT_EQ(inventory.problem, "no_driver");
  EXPECT_THAT(inventory.detail, HasSubstr("libcuda.so.1"));
}

// NVML lists the devices, but the driver is too old for the Runtime.
TEST_F(CudaProbe, ListsNvmlDevicesDespiteNewerRuntime) {
  const auto inventory = probe(std::string(PROCTOR_CUDA_DRIVER_STUB ":" PROCTOR_NVML_STAND_IN ":") + kReal,
                               {"PROCTOR_STUB_CUDA_VERSION=11080"});
  EXPECT_EQ(inventory.problem, "");
  EXPECT_EQ(inventory.runtime_problem, "driver_too_old:11.8<" PROCTOR_REAL_CUDA);
  EXPECT_THAT(inventory.runtime_detail, HasSubstr("535.104.05"));
  ASSERT_EQ(inventory.devices.size(), 2u);
  EXPECT_EQ(inventory.devices[0].id, "cuda:GPU-11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(inventory.devices[0].pci, "0000:17:00.0");
  EXPECT_EQ(inventory.devices[0].name, "Test card");
  EXPECT_EQ(inventory.devices[0].device_id, 0x2330u);
  EXPECT_EQ(inventory.devices[0].capability, "9.0");
  EXPECT_EQ(inventory.devices[1].ordinal, 1) << "in PCI order, as masks by ordinal need it";
}

#ifdef PROCTOR_REAL_CUDART12
// The probe uses the newest of the two installed runtimes that the driver supports.
TEST_F(CudaProbe, SelectsNewestRuntimeThatDriverSupports) {
  const std::string both = std::string(PROCTOR_CUDA_DRIVER_STUB ":") + kReal + ":" PROCTOR_REAL_CUDART12;
  const auto old = probe(both, {"PROCTOR_STUB_CUDA_VERSION=12020", "PROCTOR_STUB_CUDA_INIT=100"});
  EXPECT_EQ(old.problem, "no_device") << "what 12 says, and not that 13 is too new";
  EXPECT_EQ(old.cuda_runtime / 1000, 12);
  EXPECT_EQ(old.cuda_driver, 12020);
  const auto now = probe(both, {"PROCTOR_STUB_CUDA_INIT=100"});
  EXPECT_EQ(now.problem, "no_device");
  EXPECT_EQ(now.cuda_runtime / 1000, 13);
  const auto older = probe(both, {"PROCTOR_STUB_CUDA_VERSION=11080"});
  EXPECT_EQ(older.problem, "driver_too_old:11.8<" PROCTOR_REAL_CUDA) << "both are too new";
}
#endif

TEST_F(CudaProbe, InitialisationErrorAffectsAllPrograms) {
  const auto inventory = probe(std::string(PROCTOR_CUDA_DRIVER_STUB ":" PROCTOR_NVML_STAND_IN ":") + kReal,
                               {"PROCTOR_STUB_CUDA_INIT=802"});
  EXPECT_EQ(inventory.problem, "init:cudaErrorSystemNotReady");
  EXPECT_THAT(inventory.detail, HasSubstr("NVML lists 2"));
}

TEST_F(CudaProbe, ReportsGpusThatCudaCannotUse) {
  const std::string libraries = std::string(PROCTOR_CUDA_DRIVER_STUB ":" PROCTOR_NVML_STAND_IN ":") + kReal;
  const std::string none = "PROCTOR_STUB_CUDA_INIT=100";
  const auto divided = probe(libraries, {none, "PROCTOR_TEST_NVML=no_instance"});
  EXPECT_EQ(divided.problem, "no_mig_instance");
  EXPECT_THAT(divided.detail, HasSubstr("1 GPU(s) in MIG mode"));
  EXPECT_EQ(probe(libraries, {none, "PROCTOR_TEST_NVML=gone"}).problem, "init:GPU_IS_LOST");
  EXPECT_EQ(probe(libraries, {none, "PROCTOR_TEST_NVML=forbidden"}).problem, "no_device");
  EXPECT_EQ(probe(libraries, {"PROCTOR_STUB_CUDA_INIT=999", "PROCTOR_TEST_NVML=no_instance"}).problem,
            "init:cudaErrorUnknown");
}
#endif

TEST_F(CudaProbe, ListsMigInstancesOfPartitionedGpu) {
  const auto inventory = probe(PROCTOR_NVML_STAND_IN, {"PROCTOR_TEST_NVML=mig"});
  ASSERT_EQ(inventory.devices.size(), 3u);
  EXPECT_EQ(inventory.devices[0].id, "cuda:MIG-a");
  EXPECT_EQ(inventory.devices[1].id, "cuda:MIG-b");
  EXPECT_EQ(inventory.devices[1].pci, "0000:17:00.0");
  EXPECT_EQ(inventory.devices[2].ordinal, -1) << "only a CUDA Runtime can count the parts";
  EXPECT_EQ(inventory.devices[2].id, "cuda:GPU-old");
}

// A container with the management library only.
TEST_F(CudaProbe, ReportsNvmlDevicesWithoutDriver) {
  const auto inventory = probe(PROCTOR_NVML_STAND_IN);
  if (inventory.problem.empty()) GTEST_SKIP() << "this machine has a driver";
  EXPECT_EQ(inventory.problem, "no_driver");
  EXPECT_THAT(inventory.detail, HasSubstr("NVIDIA_DRIVER_CAPABILITIES"));
  EXPECT_EQ(inventory.devices.size(), 2u);
}

}  // namespace
}  // namespace proctor
