// Checks of kernel launches: shape, limits and arguments.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/ids.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kGroupSize =
    by_vendor("Level Zero specification, zeKernelSetGroupSize",
              "CUDA Programming Guide, Technical Specifications per Compute Capability");
constexpr const char* kLocal = by_vendor("oneapi-src/level-zero-tests, negative test_module_errors.cpp",
                                         "CUDA Runtime API, cudaLaunchKernel");
constexpr const char* kIds = by_vendor("SPIR-V specification, built-ins; OpenCL-CTS, thread_dimensions",
                                       "CUDA Programming Guide, Built-in Variables");
constexpr const char* kArgument = by_vendor("Level Zero specification, zeKernelSetArgumentValue",
                                            "CUDA Programming Guide, __global__ Function Parameters");

// CUDA's documents specify InvalidConfiguration. Its runtime 13.0 returns InvalidValue.
void expect_too_large(const Status& got) {
  if (kVendor == Vendor::kIntel) return expect_status("ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION", got);
  expect_refused("a group that is too large", got);
}

// A kernel that may write a few words, launched with groups of any shape.
struct Filler {
  explicit Filler(const Context& its_context)
      : context(its_context),
        queue(context),
        module(Module::load(context, "basic")),
        kernel(module, "fill") {}
  Status try_group(std::array<std::uint32_t, 3> size) {
    return queue.try_launch(kernel, {.groups = {1, 1, 1}, .group = size}, arguments(out, 5u, 16u));
  }

  Context context;
  Queue queue;
  Module module;
  Kernel kernel;
  Buffer out = device_memory(context, 64);
};

// The largest number of work-items of a group along x.
std::uint32_t largest_group(const Device& device) {
  return std::min(device.properties().largest_group, device.properties().group_limit[0]);
}

}  // namespace

PROCTOR_CHECK(Launch, OneDimensionalIdsAreCorrect, "K17", kIds, kGate,
              {"kernel.wrong_group_id:at=1", "kernel.skip_group:at=2"}) {
  expect_ids({.groups = {5, 1, 1}, .group = {7, 1, 1}});
}

PROCTOR_CHECK(Launch, TwoDimensionalIdsAreCorrect, "K17", kIds, kGate,
              {"kernel.wrong_group_id:at=3", "kernel.skip_group:at=2"}) {
  expect_ids({.groups = {3, 5, 1}, .group = {4, 2, 1}});
}

PROCTOR_CHECK(Launch, ThreeDimensionalIdsAreCorrect, "K17", kIds, kGate,
              {"kernel.wrong_group_id:at=5", "kernel.skip_group:at=2"}) {
  expect_ids({.groups = {3, 2, 4}, .group = {2, 3, 2}});
}

PROCTOR_CHECK(Launch, EveryGroupRunsOnce, "K17", kIds, kGate,
              .faults = by_vendor<Texts>({"kernel.run_twice", "kernel.skip_group:at=0,kernel=count_groups",
                                          "kernel.skip_group:tile=1,at=999", "alloc.fail_on_first_use",
                                          "kernel.launch_fail", "state.device_lost", "state.card_lost",
                                          "state.card_hung", "kernel.hang"},
                                         {"kernel.run_twice", "kernel.skip_group:at=0,kernel=count_groups",
                                          "alloc.oom", "kernel.launch_fail", "state.device_lost",
                                          "state.card_lost", "state.card_hung", "kernel.hang"}),
              .expects = suite::kHang) {
  on_device_and_tiles([&](const Context& context) {
    Queue queue(context);
    const Module module = Module::load(context, "ids");
    const auto counts = device_copy(queue, context, std::vector<std::uint32_t>(1000));
    step("given a thousand groups that count themselves");
    queue.launch(Kernel(module, "count_groups"), groups_of(1000, 4), arguments(counts));
    queue.synchronize();
    expect_words("runs of each group", std::vector<std::uint32_t>(1000, 1),
                 read_as<std::uint32_t>(queue, context, counts), context.device());
  });
}

PROCTOR_CHECK(Launch, LargestGroupRuns, "K13", kGroupSize, kGate, {"kernel.overstate_limits"}) {
  step("given groups as large as the device reports");
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel kernel(module, "fill");
  const std::uint32_t size = largest_group(context.device());
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(2 * size));
  const Status status = queue.try_launch(kernel, groups_of(2, size), arguments(out, 5u, 2 * size));
  expect_status(kSuccess, status);
  queue.synchronize();
  expect_words("words that they wrote", std::vector<std::uint32_t>(2 * size, 5),
               read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(Launch, OversizedGroupIsRejected, "K13", kGroupSize, by_vendor(kWarn, kGate),
              {"kernel.accept_oversized_group"}) {
  const auto context = leased();
  Filler filler(context);
  const auto& properties = context.device().properties();
  step("given one work-item too many");
  expect_too_large(filler.try_group({properties.group_limit[0] + 1, 1, 1}));
  step("given axes that are allowed and a product that is not");
  expect_too_large(filler.try_group({properties.largest_group, 2, 1}));
}

PROCTOR_CHECK(Launch, EmptyGroupIsRejected, "K12",
              by_vendor("measured: Intel compute-runtime 26.27 refuses it",
                        "ROCm/hip-tests, hipLaunchKernel"),
              by_vendor(kWarn, kGate), {"error.swallowed"}) {
  const auto context = leased();
  Filler filler(context);
  step("given a group of no work-items");
  expect_refused("group of 0 x 1 x 1", filler.try_group({0, 1, 1}));
}

PROCTOR_CHECK(Launch, LargestLocalMemoryIsUsable, "K14", kLocal, kGate, {"kernel.overstate_limits"}) {
  step("given as much local memory as the device reports");
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "group_local");
  const std::uint32_t bytes = context.device().properties().local_memory;
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(2));
  const Status status = queue.try_launch(Kernel(module, "touch_local"), groups_of(2, 8),
                                         arguments(out, LocalMemory{bytes}, bytes / 4));
  expect_status(kSuccess, status);
  queue.synchronize();
  expect_words("the last word of it", std::vector<std::uint32_t>(2, 42),
               read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(Launch, OversizedLocalMemoryIsRejected, "K14", kLocal, by_vendor(kWarn, kGate),
              {"error.swallowed"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "group_local");
  const std::uint32_t bytes = context.device().properties().local_memory + 4096;
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(2));
  step("given a page more local memory than there is");
  Status status = queue.try_launch(Kernel(module, "touch_local"), groups_of(2, 8),
                                   arguments(out, LocalMemory{bytes}, bytes / 4));
  if (status.ok()) status = queue.try_synchronize(kSynchronizeTimeout);
  expect_refused("a launch with " + std::to_string(bytes) + " bytes of local memory", status);
}

PROCTOR_CHECK(Launch, EachDeviceRunsOwnKernel, "V44",
              by_vendor("Level Zero specification, zeCommandListAppendLaunchKernel",
                        "CUDA Runtime API, cudaSetDevice: \"Any kernels launched from this host thread ... "
                        "will be executed on device\""),
              kGate, {"kernel.skip", "kernel.wrong_argument:arg=1"}) {
  const auto devices = Device::list();
  need(!devices.empty(), "no_device");
  step("given a kernel on each of " + std::to_string(devices.size()) + " devices, that writes its number");
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    const Context context(devices[i]);
    Queue queue(context);
    const Module module = Module::load(context, "basic");
    const auto out = device_copy(queue, context, std::vector<std::uint32_t>(1, 999));
    queue.launch(Kernel(module, "write_ordinal"), groups_of(1, 1), arguments(out, i + 5));
    queue.synchronize();
    expect_words("device " + std::to_string(i), std::vector<std::uint32_t>{i + 5},
                 read_as<std::uint32_t>(queue, context, out), devices[i]);
  }
}

// ---- arguments ----

PROCTOR_CHECK(KernelArgument, ScalarsArriveUnchanged, "K16", kArgument, kGate,
              {"kernel.wrong_argument:arg=3", "kernel.wrong_argument:arg=8"}) {
  on_device_and_tiles([&](const Context& context) {
    Queue queue(context);
    const Module module = Module::load(context, "arguments");
    const auto out = device_copy(queue, context, std::vector<std::uint64_t>(9));
    step("given nine scalars of every width");
    queue.launch(Kernel(module, "scalars"), groups_of(1, 1),
                 arguments(out, std::uint8_t{0xf1}, std::int8_t{-7}, std::uint16_t{0xfedc},
                           std::int16_t{-12345}, std::uint32_t{0xfedcba98}, std::int32_t{-123456789},
                           std::uint64_t{0xfedcba9876543210}, std::int64_t{-1234567890123456789}, 1.5f));
    queue.synchronize();
    const auto wide = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    expect_longs(
        "scalars",
        std::vector<std::uint64_t>{0xf1, wide(-7), 0xfedc, wide(-12345), 0xfedcba98, wide(-123456789),
                                   0xfedcba9876543210, wide(-1234567890123456789), 0x3fc00000},
        read_as<std::uint64_t>(queue, context, out), context.device());
  });
}

PROCTOR_CHECK(KernelArgument, StructureArrivesUnchanged, "K16", kArgument, kGate,
              {"kernel.wrong_argument:arg=1"}) {
  struct Mixed {
    std::uint8_t a;
    std::uint16_t b;
    std::uint32_t c;
    std::uint64_t d;
    float e[3];
  };
  Mixed sent;
  std::memset(&sent, 0, sizeof sent);  // The kernel writes zeros between the members.
  sent = {.a = 0xa1, .b = 0xb1b2, .c = 0xc1c2c3c4, .d = 0xd1d2d3d4d5d6d7d8, .e = {1.5f, -2.5f, 3.25f}};
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "arguments");
  const Buffer out = device_memory(context, sizeof sent);
  step("given a structure by value");
  queue.launch(Kernel(module, "structure"), groups_of(1, 1), arguments(out, sent));
  queue.synchronize();
  Mixed got;
  std::memcpy(&got, read_bytes(queue, context, out.data(), sizeof got).data(), sizeof got);
  const auto members = [](const Mixed& mixed) {
    return std::vector<std::uint64_t>{mixed.a,
                                      mixed.b,
                                      mixed.c,
                                      mixed.d,
                                      static_cast<std::uint64_t>(mixed.e[0] * 4),
                                      static_cast<std::uint64_t>(-mixed.e[1] * 4),
                                      static_cast<std::uint64_t>(mixed.e[2] * 4)};
  };
  expect_longs("members", members(sent), members(got), context.device());
}

namespace {

struct StructureSizes {
  std::uint32_t first, second;
};
// The pairs of structure sizes of arguments.cl.
constexpr StructureSizes kStructures[] = {{1, 3},    {3, 12},    {20, 28},  {12, 100},
                                          {100, 17}, {1000, 15}, {31, 1900}};
constexpr StructureSizes kLarge = {4000, 20};

Argument argument_of(std::span<const std::byte> bytes) { return {{bytes.begin(), bytes.end()}}; }

void expect_structures(const Context& context, const Module& module, StructureSizes sizes) {
  const auto bytes = noise(sizes.first + sizes.second, sizes.first);
  const std::span all(bytes);
  Queue queue(context);
  const Buffer out = device_memory(context, bytes.size());
  const auto scalars = device_copy(queue, context, std::vector<std::uint32_t>(3));
  const std::string name = "structures_" + std::to_string(sizes.first) + "_" + std::to_string(sizes.second);
  step("given " + name);
  queue.launch(Kernel(module, name), cover(std::max(sizes.first, sizes.second), 64),
               {argument(out), argument(std::uint8_t{0xe1}), argument_of(all.first(sizes.first)),
                argument(std::uint16_t{0xe2e3}), argument_of(all.subspan(sizes.first)),
                argument(std::uint32_t{0xe4e5e6e7}), argument(scalars)});
  queue.synchronize();
  expect_bytes(name, bytes, read_bytes(queue, context, out.data(), bytes.size()), context.device());
  expect_words("the numbers around " + name, std::vector<std::uint32_t>{0xe1, 0xe2e3, 0xe4e5e6e7},
               read_as<std::uint32_t>(queue, context, scalars), context.device());
}

}  // namespace

PROCTOR_CHECK(KernelArgument, StructuresOfManySizesArriveUnchanged, "K16", kArgument, kGate,
              {"kernel.wrong_argument:arg=2", "kernel.wrong_argument:kernel=structures_1000_15,arg=4"}) {
  const auto context = leased();
  const Module module = Module::load(context, "arguments");
  const auto fit = [&](const StructureSizes& sizes) {
    constexpr std::uint32_t kAround = 32;  // size of the other arguments
    return sizes.first + sizes.second + kAround <= context.device().properties().argument_bytes;
  };
  for (const StructureSizes& sizes : kStructures) {
    if (fit(sizes)) expect_structures(context, module, sizes);
  }
  // A driver may refuse a whole module if one kernel exceeds a limit of the device.
  if (fit(kLarge)) expect_structures(context, Module::load(context, "arguments_large"), kLarge);
}

PROCTOR_CHECK(KernelArgument, SixteenArgumentsKeepOrder, "K16", kArgument, kGate,
              {"kernel.wrong_argument:arg=16", "kernel.wrong_argument:arg=1"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "arguments");
  const auto out = device_copy(queue, context, std::vector<std::uint64_t>(16));
  std::vector<std::uint64_t> sent;
  Arguments all = arguments(out);
  for (std::uint64_t i = 0; i < 16; ++i) {
    sent.push_back(i * 0x0101010101010101 + 1);
    all.push_back(argument(sent.back()));
  }
  step("given sixteen numbers behind a pointer");
  queue.launch(Kernel(module, "many"), groups_of(1, 1), all);
  queue.synchronize();
  expect_longs("numbers", sent, read_as<std::uint64_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(KernelArgument, LaunchCopiesArgumentValues, "K16", kArgument, kGate,
              {"kernel.wrong_argument:arg=1,kernel=write_ordinal", "kernel.skip:kernel=write_ordinal"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel kernel(module, "write_ordinal");
  std::vector<Buffer> outs;
  for (std::uint32_t i = 0; i < 8; ++i)
    outs.push_back(device_copy(queue, context, std::vector<std::uint32_t>(1)));
  step("given one kernel that is launched eight times with other arguments, all behind a latch");
  Latch latch(context);
  latch.hold(queue);
  for (std::uint32_t i = 0; i < 8; ++i) queue.launch(kernel, groups_of(1, 1), arguments(outs[i], 100 + i));
  latch.open();
  queue.synchronize();
  for (std::uint32_t i = 0; i < 8; ++i) {
    expect_words("launch " + std::to_string(i), std::vector<std::uint32_t>{100 + i},
                 read_as<std::uint32_t>(queue, context, outs[i]), context.device());
  }
}

PROCTOR_CHECK(KernelArgument, KernelFollowsPointersInsideBuffers, "K16",
              by_vendor("Level Zero specification, zeKernelSetIndirectAccess",
                        "CUDA Programming Guide, unified virtual addresses"),
              kGate, {"kernel.wrong_result:arg=1,at=4", "kernel.skip"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "arguments");
  const auto values = noise_words(64, 1);
  const auto words = device_copy(queue, context, values);
  std::vector<std::uint64_t> addresses;
  for (std::size_t i = 0; i < 64; ++i) {
    addresses.push_back(reinterpret_cast<std::uintptr_t>(words.data()) + 4 * (63 - i));
  }
  const auto table = device_copy(queue, context, addresses);
  const Buffer out = device_memory(context, 256);
  step("given addresses that are stored in memory");
  queue.launch(Kernel(module, "indirect"), groups_of(4, 16), arguments(table, out));
  queue.synchronize();
  expect_words("words at the addresses", std::vector<std::uint32_t>(values.rbegin(), values.rend()),
               read_as<std::uint32_t>(queue, context, out), context.device());
}

}  // namespace proctor::accel
