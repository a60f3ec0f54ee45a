// Checks of launches that exist only for the CUDA Runtime: attributes, occupancy, and shared memory above the
// default limit.
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

constexpr const char* kOccupancy = "CUDA Programming Guide, Occupancy Calculator";
constexpr const char* kShared =
    "CUDA Programming Guide, Shared Memory: cudaFuncAttributeMaxDynamicSharedMemorySize";
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

PROCTOR_CHECK(KernelAttribute, SharedMemorySizeMatchesSource, "K19", kAttributes, kGate,
              {"kernel.overstate_limits:api=cudaFuncGetAttributes"}) {
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

PROCTOR_CHECK(KernelAttribute, LargestBlockRuns, "K13", kAttributes, kGate,
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
  expect_words("words that they wrote", std::vector<std::uint32_t>(2 * block, 7),
               read_as<std::uint32_t>(queue, context, words), context.device());
}

PROCTOR_CHECK(Occupancy, ActiveBlocksFitMultiprocessor, "K19", kOccupancy, kGate,
              {"kernel.overstate_limits:api=cudaOccupancy*"}) {
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
                "the number of blocks that fit is valid, got " + std::to_string(blocks));
  }
  step("given blocks with the largest shared memory of a block without an attribute");
  const auto fit = static_cast<std::uint32_t>(native.sharedMemPerMultiprocessor / native.sharedMemPerBlock);
  const std::uint32_t blocks = blocks_per_multiprocessor(fill, 32, native.sharedMemPerBlock);
  expect_true(blocks >= 1 && blocks <= fit,
              "at most " + std::to_string(fit) + " fit, got " + std::to_string(blocks));
}

// If the runtime reports that a number of groups fits, all of them must run at the same time: every group sees the
// arrival of all others. One more group must be refused.
PROCTOR_CHECK(Occupancy, LargestCooperativeGridSynchronizes, "K18",
              "CUDA Programming Guide, Grid Synchronization", kGate,
              {"kernel.serialize_cooperative_groups"}) {
  const auto context = leased();
  need(context.device().record()->native.cooperativeLaunch != 0, "unsupported:cooperative_launch");
  Queue queue(context);
  const Module module = Module::load(context, "litmus");
  const Kernel kernel(module, "grid_barrier");
  constexpr std::uint32_t kBlock = 1024;
  const std::uint32_t groups =
      blocks_per_multiprocessor(kernel, kBlock, 0) * context.device().properties().compute_units;
  expect_true(groups > 0, "at least one group fits");
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

PROCTOR_CHECK(SharedMemory, OptInRaisesLimit, "K14", kShared, kGate,
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
  step("given " + std::to_string(most) + " bytes of shared memory, without and with the attribute");
  expect_refused("a launch without the attribute", touch(most));
  expect_status(kSuccess, allow_shared(kernel, most));
  expect_status(kSuccess, touch(most));
  queue.synchronize();
  expect_words("the last word of it", std::vector<std::uint32_t>(2, 42),
               read_as<std::uint32_t>(queue, context, out), context.device());
}

namespace {

constexpr const char* kLimits = "CUDA Programming Guide, Technical Specifications per Compute Capability";

// Captures launches and discards the graph. The driver checks the limits, but nothing runs.
class Rehearsal {
 public:
  explicit Rehearsal(const Queue& queue) : stream_(native(queue)) {
    CUDA_CALL(cudaStreamBeginCapture, stream_, cudaStreamCaptureModeThreadLocal).or_throw();
  }
  ~Rehearsal() {
    cudaGraph_t graph = nullptr;
    static_cast<void>(cudaStreamEndCapture(stream_, &graph));
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
  }
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;

 private:
  cudaStream_t stream_;
};

// Launches fill() with n = 0, so that it writes nothing.
Status launch_fill(const Queue& queue, const Kernel& fill, dim3 grid, dim3 block, std::size_t shared = 0,
                   bool cooperative = false) {
  const std::byte* pointer = nullptr;
  std::uint32_t value = 7, n = 0;
  void* arguments[] = {&pointer, &value, &n};
  return cooperative
             ? CUDA_CALL(cudaLaunchCooperativeKernel, native(fill), grid, block, arguments, shared,
                         native(queue))
             : CUDA_CALL(cudaLaunchKernel, native(fill), grid, block, arguments, shared, native(queue));
}

}  // namespace

PROCTOR_CHECK(Launch, GridAndBlockLimitsHold, "K13", kLimits, kGate,
              {"error.swallowed:api=cudaLaunchKernel", "kernel.accept_oversized_group"}) {
  const auto context = leased();
  const Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel fill(module, "fill");
  const auto& reported = context.device().record()->native;
  const dim3 one(1),
      grid(static_cast<unsigned>(reported.maxGridSize[0]), static_cast<unsigned>(reported.maxGridSize[1]),
           static_cast<unsigned>(reported.maxGridSize[2]));
  const dim3 block(static_cast<unsigned>(reported.maxThreadsDim[0]),
                   static_cast<unsigned>(reported.maxThreadsDim[1]),
                   static_cast<unsigned>(reported.maxThreadsDim[2]));
  step("given grids and blocks as large as they may be along one axis");
  {
    const Rehearsal rehearsal(queue);
    for (const dim3 shape : {dim3(grid.x, 1, 1), dim3(1, grid.y, 1), dim3(1, 1, grid.z)})
      expect_status(kSuccess, launch_fill(queue, fill, shape, one));
    for (const dim3 shape : {dim3(block.x, 1, 1), dim3(1, block.y, 1), dim3(1, 1, block.z), dim3(32, 32, 1),
                             dim3(4, 4, 64), dim3(1, 1, 1)})
      expect_status(kSuccess, launch_fill(queue, fill, one, shape));
  }
  step("given one more along one axis, or none, or more in all");
  for (const dim3 shape : {dim3(grid.x + 1, 1, 1), dim3(1, grid.y + 1, 1), dim3(1, 1, grid.z + 1),
                           dim3(0, 1, 1), dim3(1, 0, 1), dim3(1, 1, 0)})
    expect_refused("the grid", launch_fill(queue, fill, shape, one));
  for (const dim3 shape : {dim3(block.x + 1, 1, 1), dim3(1, block.y + 1, 1), dim3(1, 1, block.z + 1),
                           dim3(33, 32, 1), dim3(5, 4, 64), dim3(0, 1, 1), dim3(1, 0, 1), dim3(1, 1, 0)})
    expect_refused("the block", launch_fill(queue, fill, one, shape));
}

PROCTOR_CHECK(SharedMemory, LaunchObeysKernelLimit, "K14", kShared, kGate,
              {"error.swallowed:api=cudaLaunchKernel", "error.swallowed:api=cudaFuncSetAttribute"}) {
  const auto context = leased();
  const Queue queue(context);
  const auto& reported = context.device().record()->native;
  const auto usual = static_cast<int>(reported.sharedMemPerBlock),
             most = static_cast<int>(reported.sharedMemPerBlockOptin);
  const std::byte* nowhere = nullptr;
  std::uint32_t n = 0;
  void* arguments[] = {&nowhere, &nowhere, &n};
  const auto expect_limit = [&](const Kernel& kernel, int bytes) {
    const auto launch = [&](int shared) {
      return CUDA_CALL(cudaLaunchKernel, native(kernel), dim3(1), dim3(1), arguments,
                       static_cast<std::size_t>(shared), native(queue));
    };
    expect_same("the largest size that the kernel reports", std::to_string(bytes),
                std::to_string(attributes_of(kernel).maxDynamicSharedSizeBytes));
    {
      const Rehearsal rehearsal(queue);
      expect_status(kSuccess, launch(bytes));
    }
    expect_refused("a launch with " + std::to_string(bytes + 1) + " bytes", launch(bytes + 1));
  };
  for (const auto& [file, name] : {std::pair{"group", "reduce"}, {"basic", "fill"}}) {
    const Module module = Module::load(context, file), again = Module::load(context, file);
    const Kernel kernel(module, name);
    const auto own = static_cast<int>(attributes_of(kernel).sharedSizeBytes);
    step("given a kernel with " + std::to_string(own) + " bytes of its own");
    for (const int bytes : {most - own, 1000, 0, usual - own}) {
      expect_status(kSuccess, allow_shared(kernel, static_cast<std::uint32_t>(bytes)));
      expect_limit(kernel, bytes);
    }
    for (const int bytes : {most - own + 1, -1})
      expect_status("cudaErrorInvalidValue", CUDA_CALL(cudaFuncSetAttribute, native(kernel),
                                                       cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    // The runtime sets the attribute for one device. A value that cudaFuncSetAttribute set would override it, so
    // this kernel has none.
    step("given a kernel with the attribute for one device");
    const Kernel other(again, name);
    const auto allow = [&](int device) {
      return CUDA_CALL(cudaKernelSetAttributeForDevice, other.impl()->handle,
                       cudaFuncAttributeMaxDynamicSharedMemorySize, 2000, device);
    };
    expect_status(kSuccess, allow(native(context.device())));
    expect_limit(other, 2000);
    expect_refused("a device that does not exist", allow(99));
  }
}

PROCTOR_CHECK(KernelAttribute, CarveoutAcceptsOnlyPercentages, "K19",
              "CUDA Runtime API, cudaFuncSetAttribute", kGate, {"error.swallowed:api=cudaFuncSetAttribute"}) {
  const auto context = leased();
  use(context.device());
  const Module module = Module::load(context, "basic");
  const Kernel fill(module, "fill");
  const auto set = [&](int percent) {
    return CUDA_CALL(cudaFuncSetAttribute, native(fill), cudaFuncAttributePreferredSharedMemoryCarveout,
                     percent);
  };
  step("given shares of the cache for shared memory, from -1 (default) to 100 %");
  for (const int percent : {0, 50, 99, 100, -1}) {
    expect_status(kSuccess, set(percent));
    expect_same("the share", std::to_string(percent),
                std::to_string(attributes_of(fill).preferredShmemCarveout));
  }
  for (const int percent : {-2, 101}) expect_status("cudaErrorInvalidValue", set(percent));
}

PROCTOR_CHECK(KernelAttribute, CodeVersionMatchesDevice, "K19", kAttributes, kGate,
              {"kernel.overstate_limits:api=cudaFuncGetAttributes"}) {
  const auto context = leased();
  use(context.device());
  const auto& reported = context.device().record()->native;
  const int capability = reported.major * 10 + reported.minor;
  const Module module = Module::load(context, "basic");
  step("given the target and the resources of each kernel");
  for (const char* name : {"fill", "saxpy", "increment"}) {
    const auto attributes = attributes_of(Kernel(module, name));
    expect_true(attributes.binaryVersion / 10 == reported.major && attributes.binaryVersion <= capability,
                std::string(name) + " has code for " + std::to_string(attributes.binaryVersion));
    expect_true(attributes.ptxVersion >= 50 && attributes.ptxVersion <= capability,
                std::string(name) + " was PTX for " + std::to_string(attributes.ptxVersion));
    expect_true(attributes.numRegs > 0 && attributes.numRegs <= 255, "the kernel uses registers");
    expect_true(
        attributes.maxThreadsPerBlock >= 1 && attributes.maxThreadsPerBlock <= reported.maxThreadsPerBlock,
        "the kernel's largest block is within the device's");
  }
}

PROCTOR_CHECK(KernelAttribute, ParameterLayoutMatchesSource, "K16", "CUDA Runtime API, cudaFuncGetParamInfo",
              kGate, {"error.swallowed:api=cudaFuncGetParamInfo"}) {
  const auto context = leased();
  use(context.device());
  struct Place {
    std::size_t offset, bytes;
  };
  // The parameters as the kernels declare them. Shared memory is not a parameter.
  const std::pair<std::pair<const char*, const char*>, std::vector<Place>> kernels[] = {
      {{"basic", "fill"}, {{0, 8}, {8, 4}, {12, 4}}},
      {{"group_local", "touch_local"}, {{0, 8}, {8, 4}}},
      {{"litmus", "gate"}, {{0, 8}, {8, 8}, {16, 8}}},
      {{"arguments", "scalars"},
       {{0, 8}, {8, 1}, {9, 1}, {10, 2}, {12, 2}, {16, 4}, {20, 4}, {24, 8}, {32, 8}, {40, 4}}},
      {{"arguments", "structure"}, {{0, 8}, {8, 32}}},
  };
  for (const auto& [name, places] : kernels) {
    step("given the parameters of " + std::string(name.second));
    const Module module = Module::load(context, name.first);
    const Kernel kernel(module, name.second);
    std::size_t offset = 0, bytes = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      offset = bytes = 0xdead;
      CUDA_CALL(cudaFuncGetParamInfo, native(kernel), i, &offset, &bytes).or_throw();
      expect_same("offset and bytes of parameter " + std::to_string(i),
                  std::to_string(places[i].offset) + " " + std::to_string(places[i].bytes),
                  std::to_string(offset) + " " + std::to_string(bytes));
    }
    expect_status(kSuccess, CUDA_CALL(cudaFuncGetParamInfo, native(kernel), 0, &offset, nullptr));
    expect_same("offset of the first", "0", std::to_string(offset));
    expect_status("cudaErrorInvalidValue",
                  CUDA_CALL(cudaFuncGetParamInfo, native(kernel), places.size(), &offset, &bytes));
  }
}

namespace {

// The number of blocks that fit into one multiprocessor, by the calculation of the guide.
std::uint32_t most_blocks(const cudaDeviceProp& reported, const cudaFuncAttributes& kernel, int block,
                          std::size_t shared) {
  const std::size_t threads = (static_cast<std::size_t>(block) + 31) / 32 * 32;
  const std::size_t bytes = kernel.sharedSizeBytes + shared;
  std::size_t most = std::min({static_cast<std::size_t>(reported.maxBlocksPerMultiProcessor),
                               static_cast<std::size_t>(reported.maxThreadsPerMultiProcessor) / threads,
                               static_cast<std::size_t>(reported.regsPerMultiprocessor) /
                                   (threads * static_cast<std::size_t>(kernel.numRegs))});
  if (bytes > 0)
    most = std::min(most, reported.sharedMemPerMultiprocessor / (bytes + reported.reservedSharedMemPerBlock));
  return static_cast<std::uint32_t>(most);
}

}  // namespace

PROCTOR_CHECK(Occupancy, ActiveBlocksStayWithinResourceLimits, "K19", kOccupancy, kGate,
              {"kernel.overstate_limits:api=cudaOccupancy*"}) {
  const auto context = leased();
  use(context.device());
  const auto& reported = context.device().record()->native;
  const Module basic = Module::load(context, "basic"), group = Module::load(context, "group");
  for (const Kernel& kernel : {Kernel(basic, "fill"), Kernel(group, "reduce")}) {
    const auto attributes = attributes_of(kernel);
    step("given blocks of each size of a kernel with " + std::to_string(attributes.sharedSizeBytes) +
         " bytes of shared memory");
    for (const int block : {1, 31, 32, 33, 64, 65, 96, 128, 257, 512, 513, 1023, 1024}) {
      // By the calculation of the guide, this size leaves room for nine blocks, and one more byte for eight.
      const std::size_t nine = reported.sharedMemPerMultiprocessor / 9 - reported.reservedSharedMemPerBlock -
                               attributes.sharedSizeBytes;
      for (const std::size_t shared : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{20000},
                                       nine, nine + 1, std::size_t{40000}}) {
        const std::uint32_t blocks = blocks_per_multiprocessor(kernel, block, shared);
        const std::uint32_t most = most_blocks(reported, attributes, block, shared);
        const std::string what =
            "blocks of " + std::to_string(block) + " with " + std::to_string(shared) + " bytes";
        expect_true(blocks <= most,
                    what + ": at most " + std::to_string(most) + ", not " + std::to_string(blocks));
        if (suite::on_simgpu()) expect_same(what, std::to_string(most), std::to_string(blocks));
        for (const unsigned flags : {cudaOccupancyDefault, cudaOccupancyDisableCachingOverride}) {
          int same = -1;
          CUDA_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, &same, native(kernel), block,
                    shared, flags)
              .or_throw();
          expect_same(what + " by flags", std::to_string(blocks), std::to_string(same));
        }
      }
    }
  }
}

PROCTOR_CHECK(Occupancy, AvailableSharedMemoryIsMaximal, "K19",
              "CUDA Runtime API, cudaOccupancyAvailableDynamicSMemPerBlock", kGate,
              {"error.swallowed:api=cudaOccupancyAvailableDynamicSMemPerBlock"}) {
  const auto context = leased();
  use(context.device());
  const auto& reported = context.device().record()->native;
  const Module basic = Module::load(context, "basic"), group = Module::load(context, "group");
  for (const Kernel& kernel : {Kernel(basic, "fill"), Kernel(group, "reduce")}) {
    const auto most = reported.sharedMemPerBlockOptin - attributes_of(kernel).sharedSizeBytes;
    allow_shared(kernel, static_cast<std::uint32_t>(most)).or_throw();
    step("given so many blocks in a multiprocessor, and the shared memory that each of them may have");
    // For two or more blocks, the driver 580.159.04 includes the reserved memory in the result.
    const std::size_t taken = suite::on_simgpu() ? 0 : reported.reservedSharedMemPerBlock;
    const auto ask = [&](std::size_t* bytes, int blocks, int block) {
      return CUDA_CALL(cudaOccupancyAvailableDynamicSMemPerBlock, bytes, native(kernel), blocks, block);
    };
    for (const int block : {32, 257}) {
      const auto all = static_cast<int>(blocks_per_multiprocessor(kernel, block, 0));
      for (int blocks = 1; blocks <= all; ++blocks) {
        std::size_t bytes = SIZE_MAX;
        ask(&bytes, blocks, block).or_throw();
        const std::string what = std::to_string(bytes) + " bytes for each of " + std::to_string(blocks);
        expect_true(bytes <= most, what + " are within the limit of a block");
        expect_true(
            blocks_per_multiprocessor(kernel, block, bytes - taken) >= static_cast<std::uint32_t>(blocks),
            what + " fit");
        const std::size_t more = suite::on_simgpu() ? 1 : 2048;
        if (bytes + more <= most)
          expect_true(
              blocks_per_multiprocessor(kernel, block, bytes + more) < static_cast<std::uint32_t>(blocks),
              what + " are all that fits");
      }
      std::size_t bytes = 0;
      for (const int blocks : {0, -1, all + 1})
        expect_status("cudaErrorInvalidValue", ask(&bytes, blocks, block));
    }
    std::size_t bytes = 0;
    expect_status("cudaErrorInvalidValue", ask(&bytes, 1, 0));
  }
}

PROCTOR_CHECK(Occupancy, CooperativeLaunchObeysReportedLimit, "K18",
              "CUDA Programming Guide, Grid Synchronization", kGate, {"error.swallowed:api=cudaLaunch*"}) {
  const auto context = leased();
  need(context.device().record()->native.cooperativeLaunch != 0, "unsupported:cooperative_launch");
  const Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel fill(module, "fill");
  for (const auto& [block, shared] : {std::pair{257u, 0u}, {33u, 0u}, {32u, 20000u}, {1024u, 1u}}) {
    const std::uint32_t most = blocks_per_multiprocessor(fill, static_cast<int>(block), shared) *
                               context.device().properties().compute_units;
    step("given " + std::to_string(most) + " blocks of " + std::to_string(block) + ", and one more");
    {
      const Rehearsal rehearsal(queue);
      expect_status(kSuccess, launch_fill(queue, fill, dim3(most), dim3(block), shared, true));
    }
    expect_status("cudaErrorCooperativeLaunchTooLarge",
                  launch_fill(queue, fill, dim3(most + 1), dim3(block), shared, true));
  }
  step("given a structure with and without a cooperative launch");
  const std::byte* pointer = nullptr;
  std::uint32_t value = 7, n = 0;
  void* arguments[] = {&pointer, &value, &n};
  cudaLaunchAttribute cooperative{}, priority{};
  priority.id = cudaLaunchAttributePriority;
  cooperative.id = cudaLaunchAttributeCooperative;
  const auto launch = [&](cudaLaunchAttribute* attributes, unsigned count) {
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = dim3(1 << 20);
    configuration.blockDim = dim3(1024);
    configuration.stream = native(queue);
    configuration.attrs = attributes;
    configuration.numAttrs = count;
    return CUDA_CALL(cudaLaunchKernelExC, &configuration, native(fill), arguments);
  };
  {
    const Rehearsal rehearsal(queue);
    expect_status(kSuccess, launch(nullptr, 0));
    expect_status(kSuccess, launch(&cooperative, 1));
    expect_status(kSuccess, launch(&priority, 1));
  }
  cooperative.val.cooperative = 1;
  expect_status("cudaErrorCooperativeLaunchTooLarge", launch(&cooperative, 1));
  expect_status("cudaErrorInvalidValue", launch(nullptr, 1));
}

PROCTOR_CHECK(Launch, ConfigurationStructureLaunchesKernel, "K16", "CUDA Runtime API, cudaLaunchKernelExC",
              kGate, {"kernel.wrong_argument:arg=1", "kernel.skip"}) {
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
  expect_words("words that it wrote", std::vector<std::uint32_t>(100, 7),
               read_as<std::uint32_t>(queue, context, words), context.device());
}

}  // namespace proctor::accel
