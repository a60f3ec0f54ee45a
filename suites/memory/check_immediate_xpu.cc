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
  copy_all_sizes({.from = Kind::kHost, .to = Kind::kDevice, .mode = Queue::Mode::kImmediate});
  copy_all_sizes({.from = Kind::kDevice, .to = Kind::kHost, .mode = Queue::Mode::kImmediate});
}

PROCTOR_CHECK(Fill, ImmediateListFills, "M27", kFill, kGate, {"copy.fill_skip", "copy.fill_shift"}) {
  const auto context = leased();
  step("given an immediate list");
  fill_between_guards(context, Queue::Mode::kImmediate, 8, 77);
}

}  // namespace proctor::accel
