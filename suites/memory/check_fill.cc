// Fills: every pattern size, whole and in its range.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"
#include "suites/memory/guarded.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kFill =
    by_vendor("Level Zero specification, zeCommandListAppendMemoryFill", "CUDA Runtime API, cudaMemsetAsync");

// Bytes of a pattern: the runtime of CUDA knows but one.
const std::vector<std::size_t> kPatterns =
    by_vendor<std::vector<std::size_t>>({1, 2, 4, 8, 16, 32, 64, 128}, {1});
constexpr std::size_t kWord = by_vendor<std::size_t>(4, 1);

}  // namespace

PROCTOR_CHECK(Fill, PatternsOfEverySize, "M27", kFill, kGate,
              {by_vendor("copy.fill_shift", "copy.fill_skip"), "memory.corrupt_fill:at=17"}) {
  const auto context = leased();
  for (const std::size_t pattern : kPatterns) {
    step("given a pattern of " + std::to_string(pattern) + " bytes");
    fill_between_guards(context, Queue::Mode::kLists, pattern, 33);
  }
}

PROCTOR_CHECK(Fill, LastPatternIsWritten, "M27", kFill, kGate, {"copy.fill_tail", "copy.fill_skip"}) {
  const auto context = leased();
  for (const std::size_t times : {1U, 2U, 3U, 1000U, 1001U}) {
    step("given " + std::to_string(times) + " patterns of " + std::to_string(kWord) + " bytes");
    fill_between_guards(context, Queue::Mode::kLists, kWord, times);
  }
}

PROCTOR_CHECK_EACH((std::vector<std::string>{"shared", "host"}), Fill, SharedAndHostMemory, "M27", kFill,
                   kGate, {"copy.fill_skip", "memory.corrupt_fill:at=17"}) {
  const auto context = leased();
  Queue queue(context);
  const auto pattern = noise(kWord, 3);
  const bool shared = suite::parameter() == "shared";
  const Buffer memory = shared ? shared_memory(context, 1000) : host_memory(context, 1000);
  step("given " + suite::parameter() + " memory");
  queue.fill(memory.data(), pattern, memory.bytes());
  queue.synchronize();
  std::vector<std::byte> expected(1000);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = pattern[i % kWord];
  expect_bytes(suite::parameter() + " memory", expected, {memory.data(), memory.bytes()}, context.device());
}

}  // namespace proctor::accel
