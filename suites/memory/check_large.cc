// Allocations above 4 GiB, which on Level Zero must be requested specially when they are made and when a
// module is built.
#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kRelaxed = by_vendor(
    "Level Zero specification, ze_relaxed_allocation_limits_exp_desc_t; intel/compute-runtime "
    "ALLOCATIONS_GREATER_THAN_4GB.md",
    "CUDA Runtime API, cudaMalloc");
constexpr std::uint64_t kWords = 80;  // one of them at 4 GiB exactly
constexpr std::uint64_t kStrideBytes = 64 << 20;
constexpr std::uint64_t kBytes = kWords * kStrideBytes;  // 5 GiB
static_assert(kBytes > std::uint64_t{1} << 32);

Buffer large_memory(const Context& context) {
  need_memory(context.device(), kBytes + (kBytes >> 2));
  return Buffer(context, {.bytes = kBytes, .large = true});
}

std::vector<std::uint32_t> marks() {
  std::vector<std::uint32_t> words;
  for (std::uint32_t i = 0; i < kWords; ++i) words.push_back(0xabc00000u + i);
  return words;
}

}  // namespace

// The first fault is an address that is cut to 32 bits: what is written at 4 GiB appears at the begin.
PROCTOR_CHECK(Large, CopiesReachEveryPart, "M47", kRelaxed, kGate,
              {"memory.address_alias:at=0,bytes=4294967296", "copy.offset_ignored"}) {
  const auto context = leased();
  Queue queue(context);
  const Buffer large = large_memory(context);
  step("given a block of 5 GiB with a page of its own contents at its begin, at 4 GiB and at its end");
  const std::uint64_t offsets[] = {0, std::uint64_t{1} << 32, kBytes - 4096};
  for (const std::uint64_t offset : offsets)
    write(queue, context, large.data() + offset, noise(4096, offset));
  for (const std::uint64_t offset : offsets) {
    expect_bytes("page at " + std::to_string(offset), noise(4096, offset),
                 read_bytes(queue, context, large.data() + offset, 4096), context.device());
  }
}

PROCTOR_CHECK(Large, KernelsReachEveryPart, "M47", kRelaxed, kGate,
              {"memory.address_alias:at=0,bytes=4294967296", "kernel.wrong_result:arg=2,at=16"}) {
  const auto context = leased();
  Queue queue(context);
  const Buffer large = large_memory(context);
  const Module module = Module::load(context, "large", {.flags = "-ze-opt-greater-than-4GB-buffer-required"});
  const auto n = static_cast<std::uint32_t>(kWords);
  const std::uint64_t stride = kStrideBytes / 4;
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(n));
  step("given a kernel that writes, and one that reads, a word each 64 MiB of 5 GiB");
  queue.launch(Kernel(module, "write_apart"), cover(n, 64), arguments(large, stride, n));
  queue.launch(Kernel(module, "read_apart"), cover(n, 64), arguments(large, stride, out, n));
  queue.synchronize();
  expect_words("words", marks(), read_as<std::uint32_t>(queue, context, out), context.device());
}

}  // namespace proctor::accel
