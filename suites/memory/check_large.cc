// Allocations above 4 GiB, which on Level Zero must be requested specially when they are made and when a
// module is built.
#include <algorithm>
#include <array>

#include "suites/accel/check_fixture.h"
#include "suites/main/axes.h"
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
  return memory_or_skip(context, {.bytes = kBytes, .large = true});
}

std::vector<std::uint32_t> marks() {
  std::vector<std::uint32_t> words;
  for (std::uint32_t i = 0; i < kWords; ++i) words.push_back(0xabc00000u + i);
  return words;
}

// A buffer that is looked at where lengths are cut: at its begin, at 2 GiB, at 4 GiB, and around where `bytes` of it end.
class LongBuffer {
 public:
  LongBuffer(Queue& queue, const Context& context, std::uint64_t bytes, std::uint64_t seed)
      : queue_(queue), context_(context), bytes_(bytes), seed_(seed), buffer_(room(context, bytes)) {
    for (const std::uint64_t at : looked_at()) write(queue_, context_, data() + at, before(at));
  }
  std::byte* data() const { return buffer_.data(); }

  // `inside(at)`: the kWindow bytes that came there. What lies behind `bytes` is as it was.
  template <typename Inside>
  void expect(const std::string& what, const Inside& inside) const {
    for (const std::uint64_t at : looked_at()) {
      std::vector<std::byte> expected = before(at);
      const auto end = std::min<std::uint64_t>(kWindow, bytes_ - std::min(bytes_, at));
      std::copy_n(inside(at).begin(), end, expected.begin());
      expect_bytes(what + " at " + std::to_string(at), expected,
                   read_bytes(queue_, context_, data() + at, kWindow), context_.device());
    }
  }
  std::vector<std::byte> before(std::uint64_t at) const { return noise(kWindow, seed_ + at); }

 private:
  static constexpr std::uint64_t kWindow = 256;
  static constexpr std::uint64_t kFourGiB = std::uint64_t{1} << 32;

  static Buffer room(const Context& context, std::uint64_t bytes) {
    need_memory(context.device(), bytes + kWindow);
    return memory_or_skip(context, {.bytes = bytes + kWindow, .large = bytes + kWindow > kFourGiB});
  }
  // Apart from each other: the last one begins in what is filled or copied, if that is long enough, and ends behind it.
  std::vector<std::uint64_t> looked_at() const {
    std::vector<std::uint64_t> places = {bytes_ - std::min(bytes_, kWindow / 2)};
    for (const std::uint64_t at : std::array{kFourGiB, kFourGiB / 2, std::uint64_t{0}}) {
      if (at + kWindow <= places.back()) places.push_back(at);
    }
    return places;
  }

  Queue& queue_;
  const Context& context_;
  std::uint64_t bytes_, seed_;
  Buffer buffer_;
};

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

PROCTOR_CHECK(Large, FillsOfEveryLength, "M47", kRelaxed, kGate,
              .faults = {"copy.fill_tail", "copy.fill_skip"}, .axes = {suite::axis::bytes()}) {
  const auto context = leased();
  Queue queue(context);
  suite::at_each_point([&](const suite::Point& at) {
    const std::uint64_t bytes = std::max<std::uint64_t>(at.size("bytes"), 1);
    const LongBuffer filled(queue, context, bytes, 1);
    const auto pattern = std::byte{0xa5};
    queue.fill(filled.data(), {&pattern, 1}, bytes);
    queue.synchronize();
    filled.expect("what is filled", [&](std::uint64_t) { return std::vector<std::byte>(1024, pattern); });
  });
}

PROCTOR_CHECK(Large, CopiesOfEveryLength, "M47", kRelaxed, kGate, .faults = {"copy.short", "copy.overrun"},
              .axes = {suite::axis::bytes()}) {
  const auto context = leased();
  Queue queue(context);
  suite::at_each_point([&](const suite::Point& at) {
    const std::uint64_t bytes = at.size("bytes");
    const LongBuffer from(queue, context, bytes, 1), to(queue, context, bytes, 2);
    queue.copy(to.data(), from.data(), bytes);
    queue.synchronize();
    to.expect("what is copied", [&](std::uint64_t offset) { return from.before(offset); });
  });
}

}  // namespace proctor::accel
