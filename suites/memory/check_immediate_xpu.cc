// Copies and fills by immediate lists.
#include "suites/main/check.h"
#include "suites/memory/guarded.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kFill = "Level Zero specification, zeCommandListAppendMemoryFill";

}  // namespace

PROCTOR_CHECK(Copy, ImmediateListIsByteExact, "M22", "Level Zero specification, zeCommandListCreateImmediate",
              kGate, {"memory.corrupt_copy:at=17,times=1", "copy.short"}) {
  copy_all_sizes({.from = MemoryKind::kHost, .to = MemoryKind::kDevice, .mode = Queue::Mode::kImmediate});
  copy_all_sizes({.from = MemoryKind::kDevice, .to = MemoryKind::kHost, .mode = Queue::Mode::kImmediate});
}

PROCTOR_CHECK(Fill, ImmediateListFills, "M27", kFill, kGate, .faults = {"copy.fill_skip", "copy.fill_shift"},
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

}  // namespace proctor::accel
