// Checks of memory that host and device both use.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kOffload = by_vendor("Level Zero specification, zeCommandListAppendMemoryCopy",
                                           "CUDA Runtime API, cudaMemcpyAsync: copies count bytes");
constexpr const char* kShared = by_vendor("Level Zero specification, Shared Memory",
                                          "CUDA Programming Guide, Unified Memory Programming");
constexpr const char* kHome = by_vendor("Level Zero specification, zeMemGetAllocProperties",
                                        "CUDA Runtime API, cudaPointerGetAttributes");

std::vector<std::uint32_t> transformed(std::vector<std::uint32_t> words, std::uint32_t seed) {
  for (auto& word : words) word = word * 3 + seed;
  return words;
}

// The host writes `from`, a kernel transforms it into `to`, and the host reads `to`.
void expect_transformed(const Context& context, const Buffer& from, const Buffer& to) {
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel kernel(module, "transform");
  const auto sent = noise_words(1000, 1);
  std::copy(sent.begin(), sent.end(), from.as<std::uint32_t>().begin());
  queue.launch(kernel, cover(1000, 64), arguments(from, to, 5u, 1000u));
  queue.synchronize();
  expect_words("words that the host reads", transformed(sent, 5), to.as<std::uint32_t>(), context.device());
}

}  // namespace

PROCTOR_CHECK(SharedAllocation, HostSeesKernelWrites, "M35", kShared, kGate, {"memory.shared_not_coherent"}) {
  const auto context = leased();
  step("given a kernel that reads and writes shared memory");
  expect_transformed(context, shared_memory(context, 4000), shared_memory(context, 4000));
}

PROCTOR_CHECK(SharedAllocation, AlternatingWritesAreCoherent, "M35",
              by_vendor("oneapi-src/level-zero-tests, test_usm", "ROCm/hip-tests, hipMallocManaged"), kGate,
              .faults = {"memory.shared_not_coherent", "kernel.skip"},
              .sizes = {.smoke = 4, .ci = 16, .full = 200, .unit = "rounds"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel increment(module, "increment");
  const Buffer words = shared_memory(context, 1024);
  std::fill_n(words.as<std::uint32_t>().begin(), 256, 0u);
  step("given that host and device add one in turn");
  const auto rounds = static_cast<std::uint32_t>(suite::sized());
  for (std::uint32_t round = 0; round < rounds; ++round) {
    queue.launch(increment, cover(256, 64), arguments(words, 256u));
    queue.synchronize();
    for (auto& word : words.as<std::uint32_t>()) ++word;
  }
  expect_words("after " + std::to_string(rounds) + " rounds", std::vector(256, 2 * rounds),
               words.as<std::uint32_t>(), context.device());
}

PROCTOR_CHECK(HostAllocation, KernelReadsAndWritesMemory, "M33",
              by_vendor("Level Zero specification, zeMemAllocHost", "CUDA Runtime API, cudaHostAlloc"), kGate,
              {"kernel.wrong_result:arg=1,at=17", "kernel.skip"}) {
  const auto context = leased();
  step("given a kernel that reads and writes host memory");
  expect_transformed(context, host_memory(context, 4000), host_memory(context, 4000));
}

// ---- offload: to the host, freed, and back ----

// A driver may keep the freed memory for the way back. MemoryInfo.FreedMemoryCountsAsFree checks whether it is free.
PROCTOR_CHECK(Offload, TensorRoundTripIsBitExact, "S3.7", kOffload, kGate,
              .faults = {"memory.corrupt_copy:at=17,min=1000000,times=1"},
              .sizes = {.smoke = 1 << 20, .ci = 1 << 24, .full = 1 << 28, .unit = "bytes"}) {
  const auto context = leased();
  Queue queue(context);
  const auto bytes = static_cast<std::size_t>(suite::sized());
  step("given a tensor that goes to the host, is freed, and comes back");
  const auto sent = noise(bytes, 4);
  Buffer tensor = device_copy(queue, context, sent);
  const Buffer host = host_memory(context, bytes);
  queue.copy(host.data(), tensor.data(), bytes);
  queue.synchronize();
  tensor.try_free().or_throw();
  const Buffer back = device_memory(context, bytes);
  queue.copy(back.data(), host.data(), bytes);
  queue.synchronize();
  expect_bytes("the tensor after its return", sent, read_bytes(queue, context, back.data(), bytes),
               context.device());
}

PROCTOR_CHECK(Offload, TensorReturnsToHomeDevice, "S3.11", kHome, kGate, {"alloc.wrong_device"}) {
  const auto devices = Device::list();
  need(!devices.empty(), "no_device");
  const Context context(devices);
  const auto tiles = devices.back().tiles();
  const Device home = tiles.empty() ? devices.back() : tiles.back();
  Queue queue(context, Queue::Mode::kLists, home);
  const Buffer host = host_memory(context, 4096);
  step("given a tensor of the last device or tile, to the host and back");
  Buffer tensor(context, {.bytes = 4096, .device = home});
  queue.copy(host.data(), tensor.data(), 4096);
  queue.synchronize();
  tensor.try_free().or_throw();
  const Buffer back(context, {.bytes = 4096, .device = home});
  queue.copy(back.data(), host.data(), 4096);
  queue.synchronize();
  const Device reported = pointer_info(context, back.data()).device;
  suite::expect_same("UUID of its device", home.properties().uuid,
                     reported == Device() ? "none" : reported.properties().uuid);
}

}  // namespace proctor::accel
