// Checks of copies and fills that exist only for Level Zero.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"
#include "suites/memory/guarded.h"

namespace proctor::accel {

// Checks of fills that end within a pattern.

// "size in bytes to initialize": a driver that accepts a size that is not a multiple of the pattern must write all
// of it. The validation layer of the loader refuses such a size, so no program can rely on it.
PROCTOR_CHECK(Fill, PartialPatternIsWritten, "M27", "Level Zero specification, zeCommandListAppendMemoryFill",
              suite::kWarn, .faults = {"copy.omit_partial_fill_pattern", "memory.corrupt_fill:at=17"},
              .axes = {{"pattern", {"4", "8", "16", "32", "64", "128"}, {}},
                       {"whole_patterns", {"0", "1", "3", "511", "1025"}, {}},
                       {"lacks", {"1", "2", "3"}, {}}}) {
  const auto context = leased();
  suite::at_each_point([&](const suite::Point& at) {
    const std::size_t pattern = at.size("pattern");
    const std::size_t bytes = at.size("whole_patterns") * pattern + pattern - at.size("lacks");
    try {
      fill_between_guards(context, {.pattern = pattern, .bytes = bytes});
    } catch (const Error& refused) {
      need(refused.status().code() != ZE_RESULT_ERROR_INVALID_SIZE, "unsupported:part_of_a_pattern");
      throw;
    }
  });
}

// Checks of copies and fills by immediate command lists.

namespace {

using suite::kGate;
using suite::step;

constexpr const char* kFill = "Level Zero specification, zeCommandListAppendMemoryFill";

}  // namespace

PROCTOR_CHECK(Copy, ImmediateListCopyIsByteExact, "M22",
              "Level Zero specification, zeCommandListCreateImmediate", kGate,
              {"memory.corrupt_copy:at=17,times=1", "copy.short"}) {
  copy_all_sizes({.from = MemoryKind::kHost, .to = MemoryKind::kDevice, .mode = Queue::Mode::kImmediate});
  copy_all_sizes({.from = MemoryKind::kDevice, .to = MemoryKind::kHost, .mode = Queue::Mode::kImmediate});
}

PROCTOR_CHECK(Fill, ImmediateListFillIsByteExact, "M27", kFill, kGate,
              .faults = {"copy.skip_fill", "copy.shift_fill_pattern"},
              .axes = {{"patterns", {"1", "77", "511", "8191", "8192", "8193", "40000"}, {}},
                       {"pattern", {"1", "8", "128"}, {}}}) {
  const auto context = leased();
  suite::at_each_point([&](const suite::Point& at) {
    const std::size_t pattern = at.size("pattern");
    fill_between_guards(
        context,
        {.pattern = pattern, .bytes = at.size("patterns") * pattern, .mode = Queue::Mode::kImmediate});
  });
}

// Checks of calls that move memory between host and device, or away from the device.

namespace {

using suite::kGate;
using suite::step;

}  // namespace

PROCTOR_CHECK(SharedAllocation, PrefetchKeepsContents, "M37",
              "Level Zero specification, zeCommandListAppendMemoryPrefetch", kGate,
              {"copy.prefetch_corrupts:at=17,times=1"}) {
  const auto context = leased();
  const Buffer buffer = shared_memory(context, 8192);
  const auto sent = noise(8192, 2);
  std::copy(sent.begin(), sent.end(), buffer.data());
  step("given a prefetch and advice");
  Queue queue(context, Queue::Mode::kImmediate);
  const auto list = immediate_list(queue);
  ZE_CALL(zeCommandListAppendMemoryPrefetch, list, buffer.data(), buffer.bytes()).or_throw();
  ZE_CALL(zeCommandListAppendMemAdvise, list, native(context.device()), buffer.data(), buffer.bytes(),
          ZE_MEMORY_ADVICE_SET_READ_MOSTLY)
      .or_throw();
  queue.barrier();
  queue.synchronize();
  expect_bytes("shared memory after it", sent, {buffer.data(), buffer.bytes()}, context.device());
}

PROCTOR_CHECK(Residency, EvictedMemoryKeepsContents, "M48", "Level Zero specification, zeContextEvictMemory",
              kGate, {"alloc.corrupt_evicted_memory:at=17"}) {
  const auto context = leased();
  Queue queue(context);
  const auto sent = noise(1 << 16, 3);
  const auto buffer = device_copy(queue, context, sent);
  step("given memory that is evicted and made resident three times");
  for (int i = 0; i < 3; ++i) {
    evict(context, buffer);
    make_resident(context, buffer);
  }
  expect_bytes("the memory", sent, read_bytes(queue, context, buffer.data(), buffer.bytes()),
               context.device());
}

}  // namespace proctor::accel
