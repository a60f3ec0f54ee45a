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
const std::vector<std::string> kPatterns =
    by_vendor<Texts>({"1", "2", "4", "8", "16", "32", "64", "128"}, {"1"});

// As many bytes as the patterns that lie in them whole, and one at least: the validation layer of Level Zero refuses
// parts of a pattern.
std::size_t whole_patterns(std::size_t bytes, std::size_t pattern) {
  return std::max(bytes / pattern, std::size_t{1}) * pattern;
}

constexpr std::size_t kWord = by_vendor<std::size_t>(4, 1);

}  // namespace

PROCTOR_CHECK(Fill, PatternsOfEverySize, "M27", kFill, kGate,
              .faults = {by_vendor("copy.fill_shift", "copy.fill_skip"),
                         by_vendor("memory.corrupt_fill:tile=1,at=17", "memory.corrupt_fill:at=17")},
              .axes = {guarded_bytes(),
                       {"pattern", kPatterns, {}},
                       {"patterns_before", {"0", "1", "3", "511"}, {}}},
              .points = 112) {
  PointPlaces places(leased_device());
  suite::at_each_point([&](const suite::Point& at) {
    const std::size_t pattern = at.size("pattern"), before = at.size("patterns_before");
    const FillShape shape{
        .pattern = pattern, .bytes = whole_patterns(at.size("bytes"), pattern), .offset = before * pattern};
    fill_between_guards(places.at(at.size("bytes") + pattern + before), shape);
  });
  places.record();
}

PROCTOR_CHECK(Fill, LastPatternIsWritten, "M27", kFill, kGate, {"copy.fill_tail", "copy.fill_skip"}) {
  on_device_and_tiles([&](const Context& context) {
    for (const std::size_t times : {1U, 2U, 3U, 1000U, 1001U}) {
      step("given " + std::to_string(times) + " patterns of " + std::to_string(kWord) + " bytes");
      fill_between_guards(context, {.pattern = kWord, .bytes = kWord * times});
    }
  });
}

PROCTOR_CHECK_EACH((std::vector<std::string>{"shared", "host"}), Fill, SharedAndHostMemory, "M27", kFill,
                   kGate, {"copy.fill_skip", "memory.corrupt_fill:at=17"}) {
  const auto context = leased();
  Queue queue(context);
  const auto pattern = noise(kWord, 3);
  const bool shared = suite::parameter() == "shared";
  for (const std::size_t bytes : {1000U, 65536U, 200'000U}) {
    const Buffer memory = shared ? shared_memory(context, bytes) : host_memory(context, bytes);
    step("given " + std::to_string(bytes) + " bytes of " + suite::parameter() + " memory");
    queue.fill(memory.data(), pattern, memory.bytes());
    queue.synchronize();
    std::vector<std::byte> expected(bytes);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = pattern[i % kWord];
    expect_bytes(suite::parameter() + " memory", expected, {memory.data(), memory.bytes()}, context.device());
  }
}

}  // namespace proctor::accel
