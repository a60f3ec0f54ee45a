// Tests the skip reasons of the CUDA suites. Each missing component has its own reason, which is found within
// a second. The suite runs on the simulated CUDA Runtime, or on the real one if there is no driver.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "harness/base/temp_dir.h"
#include "harness/testing/child.h"

namespace proctor::accel {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

std::string bin(const std::string& name) { return std::string(PROCTOR_BIN_DIR) + "/" + name; }

using testing_support::run_child;

class Reasons : public testing::Test {
 protected:
  // Returns the output of the case on simulated cards.
  std::string say(const std::string& program, const std::string& name, const std::string& cards,
                  const std::string& faults = "") const {
    return run_child({bin(program), "--proctor-case=" + name},
                     {.env = {"PROCTOR_EVENTS_FD=1", "PROCTOR_SIM_DRIVER=simgpu",
                              "PROCTOR_SIM_STATE=" + state_.string(), "PROCTOR_SIM_TOPOLOGY=" + cards,
                              "PROCTOR_SIM_FAULTS=" + faults, "LD_LIBRARY_PATH=" + bin("cuda_sim")}})
        .out;
  }

 private:
  const TempDir state_;
};

TEST_F(Reasons, SimulatedCardSupportsChecks) {
  EXPECT_THAT(say("memory_cuda", "Copy.HostToDeviceIsByteExact", "cuda:1"), HasSubstr(R"("result":"pass")"));
  EXPECT_THAT(say("kernels_cuda", "Launch.OneDimensionalIdsAreCorrect", "cuda:1"),
              HasSubstr(R"("result":"pass")"));
}

TEST_F(Reasons, SkipsWithTooFewCards) {
  EXPECT_THAT(say("memory_cuda", "PeerCopy.MemcpyPeerIsByteExact", "cuda:1"),
              HasSubstr(R"("needs:devices>=2")"));
}

TEST_F(Reasons, SkipsWithTooLittleMemory) {
  EXPECT_THAT(say("memory_cuda", "MemoryInfo.FreedMemoryCountsAsFree", "[[cuda]]\nmemory = \"400MiB\"\n"),
              HasSubstr(R"("not_enough_memory:335544320>)"));
}

// The fault simulates a program that allocates memory between the query of the free memory and the
// allocation.
TEST_F(Reasons, SkipsWhenSharedMemoryIsTaken) {
  const std::string shared = "[[cuda]]\nmemory = \"8GiB\"\nintegrated = true\n";
  for (const char* name : {"LargeBuffer.CopiesReachEveryPart", "LargeBuffer.KernelsReachEveryPart"})
    EXPECT_THAT(say("memory_cuda", name, shared, "alloc.oom:min=4294967296"),
                HasSubstr(R"("not_enough_memory:5368709120")"));
  EXPECT_THAT(
      say("memory_cuda", "LargeBuffer.CopiesReachEveryPart", "cuda:1", "alloc.oom:min=4294967296,times=1"),
      HasSubstr(R"("result":"pass")"))
      << "for a moment";
  EXPECT_THAT(say("memory_cuda", "LargeBuffer.CopiesReachEveryPart", "cuda:1", "alloc.oom:min=4294967296"),
              HasSubstr("cudaErrorMemoryAllocation"))
      << "though it is free";
}

TEST_F(Reasons, SkipsCardWithoutMatchingCode) {
  const std::string old_card = "[[cuda]]\ncompute_capability = \"7.0\"\n";
  EXPECT_THAT(say("kernels_cuda", "Launch.OneDimensionalIdsAreCorrect", old_card),
              HasSubstr(R"("unsupported:compute_capability=7.0")"));
  EXPECT_THAT(say("memory_cuda", "Copy.HostToDeviceIsByteExact", old_card), HasSubstr(R"("result":"pass")"))
      << "copies need no code";
}

TEST_F(Reasons, ReportsDriverInitialisationError) {
  EXPECT_THAT(say("memory_cuda", "Copy.HostToDeviceIsByteExact", "cuda:1", "visibility.init_fail:err=802"),
              HasSubstr(R"("driver_fails:cudaErrorSystemNotReady")"));
  EXPECT_THAT(say("memory_cuda", "Copy.HostToDeviceIsByteExact", "cuda:1", "visibility.init_fail:err=100"),
              HasSubstr(R"("no_device")"));
}

TEST_F(Reasons, ReportsDriverOlderThanRuntime) {
  EXPECT_THAT(say("memory_cuda", "Copy.HostToDeviceIsByteExact", "cuda:1@12.4"),
              HasSubstr(R"("driver_too_old:12040<13)"));
}

TEST_F(Reasons, ReportsDriverThatLacksFunction) {
  if (!std::filesystem::exists(bin("kernels_cuda12"))) GTEST_SKIP() << "CUDA 12 was not there";
  EXPECT_THAT(say("kernels_cuda12", "Module.EveryKernelNameIsListed", "cuda:1@12.0"),
              HasSubstr(R"("driver_too_old:cudaLibraryGetKernelCount")"));
}

// A driver that is not older than the CUDA Runtime supports every call. Code 36 is then an ordinary wrong
// code.
TEST_F(Reasons, FailsWhenCurrentDriverReportsTooOld) {
  const auto refused = [&](const std::string& program, const std::string& cards) {
    return say(program, "InvalidArgument.CallReturnsDocumentedError/cudaMalloc", cards,
               "error.wrong_code:err=36");
  };
  EXPECT_THAT(refused("memory_cuda", "cuda:1"),
              AllOf(HasSubstr(R"("result":"fail")"), HasSubstr("cudaErrorCallRequiresNewerDriver")));
  if (std::filesystem::exists(bin("memory_cuda12"))) {
    EXPECT_THAT(refused("memory_cuda12", "cuda:1@12"), HasSubstr(R"("result":"fail")"));
  }
}

// The real CUDA Runtime on a machine without the NVIDIA driver. On a machine with a driver, the result would
// depend on that driver.
TEST_F(Reasons, ReportsMissingDriver) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "there is a driver";
  const auto done = run_child({bin("memory_cuda"), "--proctor-case=Copy.HostToDeviceIsByteExact"},
                              {.env = {"PROCTOR_EVENTS_FD=1"}});
  const std::string said = done.out + done.err;
  EXPECT_THAT(said, AnyOf(HasSubstr(R"("no_driver")"), HasSubstr("libcudart")));
}

}  // namespace
}  // namespace proctor::accel
