// Fills that end within a pattern.
#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/axes.h"
#include "suites/main/check.h"
#include "suites/memory/guarded.h"

namespace proctor::accel {

// "size in bytes to initialize": whoever accepts a size that is no multiple of the pattern writes all of it. The loader's
// validation layer refuses it, so that no program can rely on it.
PROCTOR_CHECK(Fill, PartOfAPatternIsWritten, "M27", "Level Zero specification, zeCommandListAppendMemoryFill",
              suite::kWarn, .faults = {"copy.fill_part", "memory.corrupt_fill:at=17"},
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

}  // namespace proctor::accel
