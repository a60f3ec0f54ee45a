// Launches by the runtime's own terms: attributes, occupancy, shared memory beyond what all devices have.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kOccupancy = "CUDA C++ Programming Guide, Occupancy Calculator";
constexpr const char* kShared =
    "CUDA C++ Programming Guide, Shared Memory: cudaFuncAttributeMaxDynamicSharedMemorySize";
constexpr const char* kAttributes = "CUDA Runtime API, cudaFuncAttributes";

cudaFuncAttributes attributes_of(const Kernel& kernel) {
  cudaFuncAttributes attributes{};
  CUDA_CALL(cudaFuncGetAttributes, &attributes, native(kernel)).or_throw();
  return attributes;
}

std::uint32_t blocks_per_multiprocessor(const Kernel& kernel, int block, std::size_t shared) {
  int blocks = 0;
  CUDA_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, native(kernel), block, shared).or_throw();
  return static_cast<std::uint32_t>(blocks);
}

Status allow_shared(const Kernel& kernel, std::uint32_t bytes) {
  return CUDA_CALL(cudaFuncSetAttribute, native(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                   static_cast<int>(bytes));
}

}  // namespace

PROCTOR_CHECK(Attributes, SharedMemoryIsWhatTheSourceSays, "K19", kAttributes, kGate,
              {"kernel.limits_lie:api=cudaFuncGetAttributes"}) {
  const auto context = leased();
  use(context.device());
  const Module module = Module::load(context, "group");
  step("given kernels with 256 words, 2 x 64 words and no words of shared memory");
  expect_same("of reduce", "1024", std::to_string(attributes_of(Kernel(module, "reduce")).sharedSizeBytes));
  expect_same("of two_locals", "512",
              std::to_string(attributes_of(Kernel(module, "two_locals")).sharedSizeBytes));
  const Module basic = Module::load(context, "basic");
  expect_same("of fill", "0", std::to_string(attributes_of(Kernel(basic, "fill")).sharedSizeBytes));
}

PROCTOR_CHECK(Attributes, LargestBlockRuns, "K13", kAttributes, kGate,
              {"kernel.skip:kernel=fill", "kernel.skip_group:kernel=fill,at=1"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel fill(module, "fill");
  const auto block = static_cast<std::uint32_t>(attributes_of(fill).maxThreadsPerBlock);
  expect_true(block >= 1 && block <= context.device().properties().largest_group,
              "the kernel's largest block is within the device's");
  step("given two blocks of " + std::to_string(block) + ", as many as the kernel allows");
  const auto words = device_copy(queue, context, std::vector<std::uint32_t>(2 * block));
  queue.launch(fill, groups_of(2, block), arguments(words, 7u, 2 * block));
  queue.synchronize();
  expect_words("what they wrote", std::vector<std::uint32_t>(2 * block, 7),
               read_as<std::uint32_t>(queue, context, words), context.device());
}

PROCTOR_CHECK(Occupancy, FitsTheMultiprocessor, "K19", kOccupancy, kGate,
              {"kernel.limits_lie:api=cudaOccupancy*"}) {
  const auto context = leased();
  use(context.device());
  const Module module = Module::load(context, "basic");
  const Kernel fill(module, "fill");
  const auto& native = context.device().record()->native;
  const auto threads = static_cast<std::uint32_t>(native.maxThreadsPerMultiProcessor);
  const auto most = static_cast<std::uint32_t>(native.maxBlocksPerMultiProcessor);
  for (const int block : {32, 256, 1024}) {
    step("given blocks of " + std::to_string(block));
    const std::uint32_t blocks = blocks_per_multiprocessor(fill, block, 0);
    expect_true(blocks >= 1 && blocks <= most && blocks * static_cast<std::uint32_t>(block) <= threads,
                "so many fit: " + std::to_string(blocks));
  }
  step("given blocks that want as much shared memory as a block can have without asking");
  const auto fit = static_cast<std::uint32_t>(native.sharedMemPerMultiprocessor / native.sharedMemPerBlock);
  const std::uint32_t blocks = blocks_per_multiprocessor(fill, 32, native.sharedMemPerBlock);
  expect_true(blocks >= 1 && blocks <= fit,
              "at most " + std::to_string(fit) + " fit, it says " + std::to_string(blocks));
}

// What is said to fit runs at once: every group sees all others arrive; and one more is refused.
PROCTOR_CHECK(Occupancy, AsManyGroupsMeetAndNoMore, "K18", "CUDA C++ Programming Guide, Grid Synchronization",
              kGate, {"kernel.grid_barrier_broken"}) {
  const auto context = leased();
  need(context.device().record()->native.cooperativeLaunch != 0, "unsupported:cooperative_launch");
  Queue queue(context);
  const Module module = Module::load(context, "litmus");
  const Kernel kernel(module, "grid_barrier");
  constexpr std::uint32_t kBlock = 1024;
  const std::uint32_t groups =
      blocks_per_multiprocessor(kernel, kBlock, 0) * context.device().properties().compute_units;
  expect_true(groups > 0, "some groups fit");
  const auto arrived = device_copy(queue, context, std::vector<std::uint32_t>(1));
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(groups));
  const auto meet = [&](std::uint32_t count) {
    return queue.try_launch(kernel, {.groups = {count, 1, 1}, .group = {kBlock, 1, 1}, .cooperative = true},
                            arguments(arrived, out, 1u, 200000u));
  };
  step("given a cooperative launch of " + std::to_string(groups) +
       " groups, as many as fit, and of one more");
  expect_status("cudaErrorCooperativeLaunchTooLarge", meet(groups + 1));
  expect_status(kSuccess, meet(groups));
  queue.synchronize();
  expect_words("arrivals that each group saw", std::vector<std::uint32_t>(groups, groups),
               read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(SharedMemory, MoreThanUsualIsHadByAskingForIt, "K14", kShared, kGate,
              {"kernel.wrong_result:kernel=touch_local,at=1", "kernel.skip:kernel=touch_local"}) {
  const auto context = leased();
  const auto& native = context.device().record()->native;
  const auto usual = static_cast<std::uint32_t>(native.sharedMemPerBlock);
  const auto most = static_cast<std::uint32_t>(native.sharedMemPerBlockOptin);
  need(most > usual, "unsupported:shared_memory_optin");
  Queue queue(context);
  const Module module = Module::load(context, "group_local");
  const Kernel kernel(module, "touch_local");
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(2));
  const auto touch = [&](std::uint32_t bytes) {
    return queue.try_launch(kernel, groups_of(2, 8), arguments(out, LocalMemory{bytes}, bytes / 4));
  };
  step("given " + std::to_string(most) + " bytes of shared memory, not asked for and asked for");
  expect_status("cudaErrorInvalidValue", touch(most));
  expect_status(kSuccess, allow_shared(kernel, most));
  expect_status(kSuccess, touch(most));
  queue.synchronize();
  expect_words("what its last word held", std::vector<std::uint32_t>(2, 42),
               read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(Launch, ConfigurationAsAStructureRuns, "K16", "CUDA Runtime API, cudaLaunchKernelExC", kGate,
              {"kernel.wrong_argument:arg=1", "kernel.skip"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel fill(module, "fill");
  const auto words = device_copy(queue, context, std::vector<std::uint32_t>(100));
  step("given a launch by a structure");
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(4);
  configuration.blockDim = dim3(32);
  configuration.stream = native(queue);
  const std::byte* pointer = words.data();
  std::uint32_t value = 7, n = 100;
  void* arguments[] = {&pointer, &value, &n};
  CUDA_CALL(cudaLaunchKernelExC, &configuration, native(fill), arguments).or_throw();
  queue.synchronize();
  expect_words("what it wrote", std::vector<std::uint32_t>(100, 7),
               read_as<std::uint32_t>(queue, context, words), context.device());
}

}  // namespace proctor::accel
