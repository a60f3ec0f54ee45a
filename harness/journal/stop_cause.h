// Why a run was stopped before its end: one spelling each in journals and reports, and what it means for the rest.
#pragma once

#include <cstddef>
#include <string_view>

#include "harness/journal/event_words.h"
#include "harness/journal/outcome.h"

namespace proctor {

enum class StopCause { kSignal, kParentDied, kDeadline, kFailFast, kBreaker, kJournal };
inline constexpr std::size_t kStopCauses = static_cast<std::size_t>(StopCause::kJournal) + 1;
std::string_view to_string(StopCause cause);

using StopWord = Word<StopCause>;

// The reason of a case that was not run because of this stop.
ReasonText reason_of_rest(const StopWord& cause);

}  // namespace proctor
