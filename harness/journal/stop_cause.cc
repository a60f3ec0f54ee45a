#include "harness/journal/stop_cause.h"

#include <algorithm>
#include <array>

#include "harness/base/whole_table.h"

namespace proctor {
namespace {

struct StopRow {
  StopCause known;
  std::string_view spelling;
  Reason rest;
};

constexpr auto kStops = std::to_array<StopRow>({
    {StopCause::kSignal, "signal", Reason::kInterrupted},
    {StopCause::kParentDied, "parent_died", Reason::kInterrupted},
    {StopCause::kDeadline, "deadline", Reason::kBudget},
    {StopCause::kFailFast, "fail_fast", Reason::kFailFast},
    {StopCause::kBreaker, "breaker", Reason::kBreaker},
    {StopCause::kJournal, "journal", Reason::kBudget},
});

static_assert(is_whole(kStops, kStopCauses));

}  // namespace

std::string_view to_string(StopCause cause) { return kStops[static_cast<std::size_t>(cause)].spelling; }

ReasonText reason_of_rest(const StopWord& cause) {
  const auto* row = std::ranges::find(kStops, cause.text(), &StopRow::spelling);
  if (row != kStops.end()) return row->rest;
  return cause == StopWord() ? Reason::kInterrupted : reason_in_words(cause.text());
}

}  // namespace proctor
