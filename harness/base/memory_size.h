// Sizes of memory as people write them: `512M`, `4G`, `1.5G`, in powers of 1024. A number without a unit is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/base/result.h"

namespace proctor {

// --mem-cap of a run, in bytes, for every program that a case starts.
inline constexpr const char* kMemoryCapVariable = "PROCTOR_MEM_CAP";

// From 1M to 1024T, in whole KiB. `MiB` and `GiB` mean the same as `M` and `G`.
Result<std::uint64_t> parse_memory_size(std::string_view text);

// The shortest form that parse_memory_size reads back to the same value: "512M".
std::string format_memory_size(std::uint64_t bytes);

}  // namespace proctor
