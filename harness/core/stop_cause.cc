#include "harness/core/stop_cause.h"

#include <algorithm>
#include <array>

namespace proctor {
namespace {

struct StopRow {
  StopCause cause;
  std::string_view spelling;
  Reason rest;
};

constexpr auto kStops = std::to_array<StopRow>({
    {StopCause::kSignal, "signal", Reason::kInterrupted},
    {StopCause::kParentDied, "parent_died", Reason::kInterrupted},
    {StopCause::kDeadline, "deadline", Reason::kBudget},
    {StopCause::kFailFast, "fail_fast", Reason::kFailFast},
    {StopCause::kBreaker, "breaker", Reason::kBreaker},
});

constexpr bool each_has_its_row() {
  for (std::size_t i = 0; i < kStops.size(); ++i) {
    if (kStops[i].cause != static_cast<StopCause>(i)) return false;
  }
  return kStops.size() == kStopCauses;
}
static_assert(each_has_its_row());

}  // namespace

std::string_view to_string(StopCause cause) { return kStops[static_cast<std::size_t>(cause)].spelling; }

ReasonText reason_of_rest(const StopWord& cause) {
  const auto* row = std::ranges::find(kStops, cause.text(), &StopRow::spelling);
  if (row != kStops.end()) return row->rest;
  return cause == StopWord() ? Reason::kInterrupted : reason_in_words(cause.text());
}

}  // namespace proctor
