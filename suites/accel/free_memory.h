// Free memory as the driver tells it, for checks that compare it. No specification says to the byte or to the moment what is
// told: a driver rounds up, keeps what is freed for the next time, and other programs have memory, too. So a check compares
// within kFreeSlack, takes much more than that, and asks what is true of a driver that keeps things: who takes and frees the
// same again takes no more, and what a process had is back when it has ended.
#pragma once

#include <cstdint>

#include "suites/accel/accel.h"

namespace proctor::accel {

// By how much free memory may be off: contexts and queues take some MiB, a driver hands out blocks of 2 MiB, and a screen that
// is attached shows two pictures of 4096 x 2160 pixels of 4 bytes in turn, of 34 MiB each.
inline constexpr std::uint64_t kFreeSlack = std::uint64_t{80} << 20;
// The size that checks take. It is much more than the slack, and more than the freed buffers of up to 256 MiB that Intel's
// driver keeps for ten seconds and reuses for the next allocation.
inline constexpr std::uint64_t kHeld = std::uint64_t{320} << 20;

// Memory of the device, or of the context's first one, that was written, so that a driver which takes memory at the first use
// has it.
Buffer used_memory(const Context& context, std::size_t bytes, const Device& device = {});

// Ends the check as skip(needs:perfmon) where all memory is free although this process has some of it. A kernel driver of
// Intel's tells what is in use to processes with CAP_PERFMON only (drm_xe_mem_region::used: "Without this the value here will
// always equal zero").
// That memory is to be held while a check compares: what is freed a driver may keep and hand out again.
[[nodiscard]] Buffer need_counted_memory(const Context& context);

// Waits for a driver that gives memory back late. Tells how much less than before is free in the end; 0 within the slack.
std::uint64_t missing_after(const Device& device, std::uint64_t free_before);
// Reports what is still missing then.
void expect_returned(const Device& device, std::uint64_t free_before);

}  // namespace proctor::accel
