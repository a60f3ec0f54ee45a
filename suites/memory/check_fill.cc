// Fills: every pattern size, whole and in its range.
#include <algorithm>

#include "suites/accel/given.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kFill = "Level Zero specification, zeCommandListAppendMemoryFill";
constexpr std::size_t kGuard = 128;

void fill_between_guards(const Context& context, Queue::Mode mode, std::size_t pattern_bytes,
                         std::size_t times) {
  Queue queue(context, mode);
  const std::size_t bytes = pattern_bytes * times;
  const auto before = noise(bytes + 2 * kGuard, 1);
  const auto pattern = noise(pattern_bytes, 2);
  const auto buffer = device_copy(queue, context, before);
  queue.fill(buffer.data() + kGuard, pattern, bytes);
  queue.synchronize();

  auto expected = before;
  for (std::size_t i = 0; i < bytes; ++i) expected[kGuard + i] = pattern[i % pattern_bytes];
  expect_bytes(
      "fill of " + std::to_string(bytes) + " bytes with a pattern of " + std::to_string(pattern_bytes),
      expected, read_bytes(queue, context, buffer.data(), buffer.bytes()), context.device());
}

}  // namespace

PROCTOR_CHECK(Fill, PatternsOfEverySize, "M27", kFill, kGate,
              {"copy.fill_shift", "memory.corrupt_fill:at=17"}) {
  const auto context = leased();
  for (const std::size_t pattern : {1, 2, 4, 8, 16, 32, 64, 128}) {
    step("given a pattern of " + std::to_string(pattern) + " bytes");
    fill_between_guards(context, Queue::Mode::kLists, pattern, 33);
  }
}

PROCTOR_CHECK(Fill, LastPatternIsWritten, "M27", kFill, kGate, {"copy.fill_tail", "copy.fill_skip"}) {
  const auto context = leased();
  for (const std::size_t times : {1, 2, 3, 1000, 1001}) {
    step("given " + std::to_string(times) + " patterns of 4 bytes");
    fill_between_guards(context, Queue::Mode::kLists, 4, times);
  }
}

PROCTOR_CHECK(Fill, ImmediateListFills, "M27", kFill, kGate, {"copy.fill_skip", "copy.fill_shift"}) {
  const auto context = leased();
  step("given an immediate list");
  fill_between_guards(context, Queue::Mode::kImmediate, 8, 77);
}

PROCTOR_CHECK(Fill, SharedAndHostMemory, "M27", kFill, kGate,
              {"copy.fill_skip", "memory.corrupt_fill:at=17"}) {
  const auto context = leased();
  Queue queue(context);
  const auto pattern = noise(4, 3);
  step("given host memory");
  const Buffer host = host_memory(context, 1000);
  queue.fill(host.data(), pattern, host.bytes());
  queue.synchronize();
  std::vector<std::byte> expected(1000);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = pattern[i % 4];
  expect_bytes("host memory", expected, {host.data(), host.bytes()}, context.device());
}

}  // namespace proctor::accel
