// Comparisons of the free memory that the driver reports. No specification guarantees exact or immediate
// values. A driver rounds sizes up and caches freed memory, and other programs allocate memory, too.
// Therefore a check allocates much more than kFreeSlack, and compares with that tolerance. Its rules also
// hold for a driver that caches. Allocating and freeing the same amount again uses no more memory. The memory
// of a process is free after the process has ended.
#pragma once

#include <cstdint>

#include "suites/accel/accel.h"

namespace proctor::accel {

// The tolerance for free memory. Contexts and queues use some MiB. A driver allocates blocks of 2 MiB. An
// attached screen alternates two images of 4096 x 2160 pixels of 4 bytes, of 34 MiB each.
inline constexpr std::uint64_t kFreeSlack = std::uint64_t{80} << 20;
// The amount that checks allocate. It is much more than the tolerance. It is also more than the freed buffers
// of up to 256 MiB that Intel's driver caches for ten seconds and reuses.
inline constexpr std::uint64_t kHeld = std::uint64_t{320} << 20;

// Returns memory of `device`, by default the first device of the context. The memory is written, so that a
// driver with lazy allocation has allocated it.
Buffer used_memory(const Context& context, std::size_t bytes, const Device& device = {});

// Ends the check as skip(needs:perfmon) if all memory is reported as free although this process has allocated
// some. An Intel kernel driver reports used memory only to processes with CAP_PERFMON
// (drm_xe_mem_region::used: "Without this the value here will always equal zero"). Hold the returned memory
// while the check compares. A driver may cache freed memory and reuse it.
[[nodiscard]] Buffer need_counted_memory(const Context& context);

// Waits for a driver that returns memory late. Returns how much less memory than before is free in the end; 0
// within the tolerance.
std::uint64_t missing_after(const Device& device, std::uint64_t free_before);
// Reports a failure if memory is still missing after that wait.
void expect_returned(const Device& device, std::uint64_t free_before);

}  // namespace proctor::accel
