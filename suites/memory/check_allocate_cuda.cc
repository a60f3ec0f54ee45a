// Checks of allocation and release of memory that exist only for the CUDA Runtime.
#include <unistd.h>

#include <cstdlib>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/management.h"
#include "suites/accel/cuda/native.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::Helper;
using suite::kGate;
using suite::step;

constexpr const char* kMalloc =
    "CUDA Runtime API, cudaMalloc; ROCm/hip-tests, hipMalloc, which run on NVIDIA";
constexpr const char* kFree = "CUDA Runtime API, cudaFree; ROCm/hip-tests, hipFree, which run on NVIDIA";
constexpr const char* kErrors =
    "CUDA Runtime API, cudaGetLastError, cudaPeekAtLastError; cudaErrorMemoryAllocation";

Status last_error() { return CUDA_CALL(cudaGetLastError); }
Status peeked_error() { return CUDA_CALL(cudaPeekAtLastError); }

}  // namespace

PROCTOR_CHECK(Allocation, ZeroSizeReturnsNull, "M01", kMalloc, kGate, {"alloc.zero_size_accepted"}) {
  const auto context = leased();
  use(context.device());
  step("given 0 bytes of device memory");
  void* pointer = &pointer;
  expect_status(kSuccess, CUDA_CALL(cudaMalloc, &pointer, 0));
  expect_true(pointer == nullptr, "the pointer is null");
}

PROCTOR_CHECK(Free, NullPointerIsAccepted, "M09", kFree, kGate,
              {"memory.corrupt_copy:at=17,after=1,times=1", "copy.skip:after=1"}) {
  const auto context = leased();
  Queue queue(context);
  const auto sent = noise(4096, 1);
  const auto buffer = device_copy(queue, context, sent);
  step("given that null is freed, of the device and of the host");
  expect_status(kSuccess, CUDA_CALL(cudaFree, nullptr));
  expect_status(kSuccess, CUDA_CALL(cudaFreeHost, nullptr));
  expect_bytes("a buffer after that", sent, read_bytes(queue, context, buffer.data(), sent.size()),
               context.device());
}

PROCTOR_CHECK(OutOfMemory, ErrorIsNotSticky, "M06", kErrors, kGate, {"error.never_cleared"}) {
  const auto context = leased();
  Queue queue(context);
  static_cast<void>(last_error());
  step("given memory that is larger than any device's");
  void* pointer = nullptr;
  expect_status("cudaErrorMemoryAllocation", CUDA_CALL(cudaMalloc, &pointer, std::size_t{1} << 50));
  expect_status("cudaErrorMemoryAllocation", peeked_error());
  expect_status("cudaErrorMemoryAllocation", last_error());
  expect_status(kSuccess, last_error());
  const auto sent = noise(4096, 2);
  const auto buffer = device_copy(queue, context, sent);
  expect_bytes("memory that is allocated after it", sent,
               read_bytes(queue, context, buffer.data(), sent.size()), context.device());
}

PROCTOR_CHECK(Free, CallWaitsForRunningKernel, "M13", "ROCm/hip-tests, hipFreeImplicitSyncDev", suite::kWarn,
              {"order.end_wait_early:api=cudaFree"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "litmus");
  Buffer flags = host_memory(context, 128);
  std::memset(flags.data(), 0, flags.bytes());
  Buffer freed = device_memory(context, 4096);
  const Event done(context);
  step("given a kernel that looks at a flag for a while, and other memory that is freed meanwhile");
  constexpr std::uint64_t kStyles = 100'000;
  queue.launch(Kernel(module, "gate"), groups_of(1, 1), arguments(flags, flags.data() + 64, kStyles),
               {.wait = {}, .signal = &done});
  freed.try_free().or_throw();
  expect_status(kSuccess, done.query());
  queue.synchronize();
}

PROCTOR_CHECK(MemoryInfo, NvmlTracksProcessMemory, "M52",
              "NVML API Reference Guide, nvmlDeviceGetComputeRunningProcesses: usedGpuMemory", suite::kWarn,
              {"sysman.freeze_free_memory:api=nvmlDeviceGetComputeRunningProcesses*"}) {
  const auto context = leased();
  constexpr std::uint64_t kHeld = 256 << 20;
  constexpr std::uint64_t kSlack = 8 << 20;
  const auto before = managed_memory_of_process(context.device(), getpid());
  if (!before) suite::skip("unsupported:nvml_processes");
  step("given 256 MiB that this process allocates and frees");
  std::uint64_t during = 0;
  {
    const Buffer held = device_memory(context, kHeld);
    during = managed_memory_of_process(context.device(), getpid()).value_or(0);
  }
  const std::uint64_t after = managed_memory_of_process(context.device(), getpid()).value_or(0);
  expect_true(during + kSlack >= *before + kHeld && during <= *before + kHeld + kSlack,
              "the process has 256 MiB more, before it had " + std::to_string(*before) + " and has " +
                  std::to_string(during));
  expect_true(after <= *before + kSlack,
              "the process has as much as before, now it has " + std::to_string(after));
}

PROCTOR_CHECK(MemoryInfo, CudaAndNvmlTotalsAgree, "M50",
              "CUDA Runtime API, cudaMemGetInfo; NVML API Reference Guide, nvmlDeviceGetMemoryInfo",
              suite::kWarn, {"sysman.understate_memory_size"}) {
  for (const Device& device : Device::list()) {
    step("given the memory of " + describe(device));
    const std::uint64_t total = managed_memory(device);
    expect_same("total of cudaMemGetInfo", std::to_string(device.properties().memory),
                std::to_string(device.memory().total));
    expect_true(total >= device.properties().memory,
                "the card has at least the memory that programs can use, it has " + std::to_string(total));
  }
}

namespace {

// Creates a context on each visible device, and holds memory on the first.
PROCTOR_HELPER(use_devices) {
  const Context context(Device::list());
  const Buffer held = device_memory(context, 1 << 20);
  suite::answer({{"pid", getpid()}});
  suite::wait_for_input();
}

}  // namespace

PROCTOR_CHECK(MemoryInfo, NvmlListsProcessesPerDevice, "M52",
              "NVML API Reference Guide, nvmlDeviceGetComputeRunningProcesses: processes with a compute "
              "context on a device",
              suite::kWarn, .faults = {"sysman.freeze_free_memory:api=nvmlDeviceGetComputeRunningProcesses*"},
              .devices = 2) {
  const auto devices = leased_devices(2);
  const auto expect_known = [&](const char* whose, int pid, bool on_first, bool on_second) {
    const bool expected[] = {on_first, on_second};
    for (std::size_t i = 0; i < 2; ++i) {
      const auto reported = managed_memory_of_process(devices[i], pid);
      expect_true(
          expected[i] ? reported.value_or(0) != 0 : !reported,
          std::string(whose) + (expected[i] ? " has memory on " : " does not use ") + describe(devices[i]));
    }
  };
  const Context context(devices);
  const Buffer held = device_memory(context, 1 << 20);
  const bool known = suite::on_simgpu() || managed_memory_of_process(devices[0], getpid());
  if (!known) suite::skip("unsupported:nvml_processes");
  const char* const mask = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string visible = mask == nullptr || *mask == '\0' ? "0" : mask;
  const Helper::Variables the_first = {{"CUDA_VISIBLE_DEVICES", visible.substr(0, visible.find(','))}};
  step("given a process that uses two devices, and another one that uses the first");
  {
    Helper both("use_devices"), first("use_devices", {}, the_first);
    const int uses_both = both.answer().at("pid").get<int>(),
              uses_first = first.answer().at("pid").get<int>();
    expect_known("the one", uses_both, true, true);
    expect_known("the other process", uses_first, true, false);
    step("given that the first one is killed");
    both.kill();
    expect_known("it", uses_both, false, false);
  }
  step("given a process that uses the first device only, in the place of the killed one");
  Helper next("use_devices", {}, the_first), after("use_devices", {}, the_first);
  expect_known("it", next.answer().at("pid").get<int>(), true, false);
  expect_known("the process after it", after.answer().at("pid").get<int>(), true, false);
  step("given that this process resets the second device");
  expect_known("this process", getpid(), true, true);
  use(devices[1]);
  CUDA_CALL(cudaDeviceReset).or_throw();
  expect_known("this process", getpid(), true, false);
}

// The reference does not state whether a null pointer is allowed for one of the two results. If the call succeeds,
// the other result must be right.
PROCTOR_CHECK(MemoryInfo, NullOutputSucceedsOrIsRejected, "M16", "CUDA Runtime API, cudaMemGetInfo",
              suite::kWarn,
              {"error.wrong_code:api=cudaMemGetInfo", "sysman.understate_memory_size:api=cudaMemGetInfo"}) {
  const auto context = leased();
  use(context.device());
  const std::size_t all = context.device().record()->native.totalGlobalMem;
  step("given a null pointer for the free memory, and one for the total");
  std::size_t free = 0, total = 0;
  for (const Status& status :
       {CUDA_CALL(cudaMemGetInfo, nullptr, &total), CUDA_CALL(cudaMemGetInfo, &free, nullptr)}) {
    if (!status.ok()) expect_status("cudaErrorInvalidValue", status);
  }
  static_cast<void>(cudaGetLastError());
  CUDA_CALL(cudaMemGetInfo, &free, &total).or_throw();
  expect_same("the total", std::to_string(all), std::to_string(total));
}

}  // namespace proctor::accel
