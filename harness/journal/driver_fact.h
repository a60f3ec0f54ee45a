// What a driver was to say of itself and did not: a fact of the fingerprint without a value. It tells what a run came to
// know, and nothing about the stack that it ran on.
#pragma once

#include <string_view>

#include "harness/journal/events.h"

namespace proctor {

inline constexpr std::string_view kDriverSource = "the driver itself";

inline bool is_unsaid(const StackFact& fact) { return !fact.value && fact.source == kDriverSource; }

}  // namespace proctor
