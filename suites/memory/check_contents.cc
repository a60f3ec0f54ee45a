// Checks of the memory itself. Each cell must keep its value, written by copy or by kernel, for a pattern and its
// complement. A stuck bit therefore fails, whatever its value.
#include <algorithm>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kTester = "NVIDIA DCGM, memtest, tests 0 to 10";

std::vector<std::byte> inverted(std::vector<std::byte> bytes) {
  for (auto& byte : bytes) byte = ~byte;
  return bytes;
}

}  // namespace

PROCTOR_CHECK(Contents, PatternAndComplementAreKept, "M43", kTester, kGate,
              .faults = {"memory.stuck_bit:at=4097", "memory.address_alias:at=8193"},
              .sizes = {.smoke = 1 << 16, .ci = 1 << 20, .full = 1 << 26, .unit = "bytes"}) {
  on_device_and_tiles([&](const Context& context) {
    Queue queue(context);
    const auto bytes = static_cast<std::size_t>(suite::sized());
    const Buffer buffer = device_memory(context, bytes);
    const auto pattern = noise(bytes, 1);
    for (const auto& sent : {pattern, inverted(pattern)}) {
      step("given a pattern over " + std::to_string(bytes) + " bytes");
      write(queue, context, buffer.data(), sent);
      expect_bytes("the pattern", sent, read_bytes(queue, context, buffer.data(), bytes), context.device());
    }
  });
}

PROCTOR_CHECK(Contents, WalkingBitsAreKept, "M43", kTester, kGate,
              {"memory.stuck_bit:at=17", "memory.corrupt_fill:at=17"}) {
  on_device_and_tiles([&](const Context& context) {
    Queue queue(context);
    const Buffer buffer = device_memory(context, 4096);
    step("given each of eight bits alone, and all but it");
    for (unsigned bit = 0; bit < 8; ++bit) {
      for (const unsigned value : {1u << bit, 0xffu ^ (1u << bit)}) {
        const std::byte pattern{static_cast<unsigned char>(value)};
        queue.fill(buffer.data(), {&pattern, 1}, buffer.bytes());
        queue.synchronize();
        expect_bytes("pattern " + std::to_string(value), std::vector(4096, pattern),
                     read_bytes(queue, context, buffer.data(), 4096), context.device());
      }
    }
  });
}

// Every word contains its own address. A stuck address line maps two addresses to the same word. A kernel verifies
// the words on the device, and the host reads them too, so each confirms the other.
PROCTOR_CHECK(Contents, EveryWordHoldsOwnAddress, "M43", kTester, kGate,
              .faults = {"memory.address_alias:at=8193", "memory.stuck_bit:at=4097"},
              .sizes = {.smoke = 1 << 12, .ci = 1 << 15, .full = 1 << 22, .unit = "words"}) {
  on_device_and_tiles([&](const Context& context) {
    Queue queue(context);
    const Module module = Module::load(context, "basic");
    const Kernel write_addresses(module, "write_addresses");
    const Kernel count_bad(module, "count_bad_addresses");
    const auto n = static_cast<std::uint32_t>(suite::sized());
    const Buffer words = device_memory(context, std::size_t{8} * n);
    for (const std::uint64_t invert : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      step(invert == 0 ? "given addresses" : "given their complements");
      const auto bad = device_copy(queue, context, std::vector<std::uint32_t>(1));
      queue.launch(write_addresses, cover(n, 64), arguments(words, invert, n));
      queue.launch(count_bad, cover(n, 64), arguments(words, invert, bad, n));
      queue.synchronize();
      suite::expect_same("words that the device finds wrong", "0",
                         std::to_string(read_as<std::uint32_t>(queue, context, bad)[0]));
      std::vector<std::uint64_t> expected(n);
      for (std::size_t i = 0; i < n; ++i)
        expected[i] = (reinterpret_cast<std::uintptr_t>(words.data()) + 8 * i) ^ invert;
      expect_longs("words that the host reads", expected, read_as<std::uint64_t>(queue, context, words),
                   context.device());
    }
  });
}

PROCTOR_CHECK(Contents, KernelCopyIsByteExact, "M43", kTester, kGate,
              {"memory.stuck_bit:at=17",
               by_vendor("kernel.wrong_result:tile=1,arg=1,at=17", "kernel.wrong_result:arg=1,at=17")}) {
  on_device_and_tiles([&](const Context& context) {
    Queue queue(context);
    const Module module = Module::load(context, "basic");
    const Kernel copy(module, "copy");
    step("given bytes that a kernel copies");
    const auto sent = noise(5001, 2);
    const auto from = device_copy(queue, context, sent);
    const auto to = device_copy(queue, context, inverted(sent));
    queue.launch(copy, cover(5001, 64), arguments(from, to, 5001u));
    queue.synchronize();
    expect_bytes("the kernel's copy", sent, read_bytes(queue, context, to.data(), sent.size()),
                 context.device());
  });
}

PROCTOR_CHECK(Contents, KernelWritesOnlyTargetBuffer, "M43",
              by_vendor("Level Zero programming guide, Memory: unique physical pages for each allocation",
                        "CUDA Runtime API, cudaMalloc: a pointer to the allocated memory"),
              kGate, {"kernel.stray_write"}) {
  on_device_and_tiles([&](const Context& context) {
    Queue queue(context);
    const Module module = Module::load(context, "basic");
    const Kernel fill(module, "fill");
    std::vector<Buffer> buffers;
    for (std::uint64_t i = 0; i < 9; ++i) buffers.push_back(device_copy(queue, context, noise(4096, i)));
    step("given a kernel that fills the fifth of nine buffers");
    queue.launch(fill, cover(1024, 64), arguments(buffers[4], 7u, 1024u));
    queue.synchronize();
    for (std::size_t i = 0; i < 9; ++i) {
      if (i == 4) continue;
      expect_bytes("buffer " + std::to_string(i), noise(4096, i),
                   read_bytes(queue, context, buffers[i].data(), 4096), context.device());
    }
  });
}

// A check that idle memory keeps its bits.

// Reads the memory twice, at once and later. Bits that are wrong in the first reading have not faded. The fault
// changes the second reading. The longest wait is below the time limit of a case.
PROCTOR_CHECK(Contents, IdleMemoryKeepsContents, "M44", "NVIDIA DCGM, memtest, test 9 (bit fade)",
              suite::kGate, .faults = {"memory.corrupt_copy:at=4097,xor=4,min=8192,after=4"},
              .sizes = {.smoke = 20, .ci = 100, .full = 20'000, .stress = 45'000, .unit = "milliseconds"}) {
  const auto context = leased();
  Queue queue(context);
  const std::vector<std::byte> patterns[] = {std::vector(1 << 20, std::byte{0x00}),
                                             std::vector(1 << 20, std::byte{0xff})};
  const Buffer memories[] = {device_copy(queue, context, patterns[0]),
                             device_copy(queue, context, patterns[1])};
  suite::step("given memory full of zeros and memory full of ones");
  const auto expect_kept = [&](const std::string& when) {
    for (std::size_t i = 0; i < 2; ++i) {
      expect_bytes(when, patterns[i], read_bytes(queue, context, memories[i].data(), patterns[i].size()),
                   context.device());
    }
  };
  expect_kept("at once");
  std::this_thread::sleep_for(std::chrono::milliseconds(suite::sized()));
  expect_kept("after " + std::to_string(suite::sized()) + " ms");
}

}  // namespace proctor::accel
