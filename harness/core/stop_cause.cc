#include "harness/core/stop_cause.h"

#include <algorithm>
#include <array>

namespace proctor {
namespace {

struct Row {
  StopCause cause;
  std::string_view spelling;
  Reason rest;
};

constexpr auto kRows = std::to_array<Row>({
    {StopCause::kSignal, "signal", Reason::kInterrupted},
    {StopCause::kParentDied, "parent_died", Reason::kInterrupted},
    {StopCause::kDeadline, "deadline", Reason::kBudget},
    {StopCause::kFailFast, "fail_fast", Reason::kFailFast},
    {StopCause::kBreaker, "breaker", Reason::kBreaker},
});

constexpr bool each_has_its_row() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].cause != static_cast<StopCause>(i)) return false;
  }
  return kRows.size() == kStopCauses;
}
static_assert(each_has_its_row());

}  // namespace

std::string_view to_string(StopCause cause) { return kRows[static_cast<std::size_t>(cause)].spelling; }

ReasonText reason_of_rest(const StopWord& cause) {
  const auto* row = std::ranges::find(kRows, cause.text(), &Row::spelling);
  if (row != kRows.end()) return row->rest;
  return cause == StopWord() ? Reason::kInterrupted : reason_in_words(cause.text());
}

}  // namespace proctor
