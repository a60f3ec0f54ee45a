// Where reports say that something lies, and when it was.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/journal/events.h"

namespace proctor {

// A source file as tools beside the checkout know it; "" where it lies elsewhere, or nobody knows.
std::string below_checkout(const RunPlanned& plan, const std::string& file);

// "2026-01-31T12:00:00Z", a moment that there is, and nothing else.
bool is_utc_stamp(std::string_view text);
// As many parts as `run --shard` makes of a plan; a journal that says more is believed by nobody.
inline constexpr int kMostShardsOfAPlan = 10'000;
// Whether it is one of so many.
bool is_shard_number(const PlannedShard& shard);

// In milliseconds since 1970; 0 for what is no such stamp.
std::int64_t unix_ms(const std::string& utc);

}  // namespace proctor
