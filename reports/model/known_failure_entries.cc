#include "reports/model/known_failure_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "harness/core/count_text.h"
#include "harness/core/day.h"

namespace proctor {

std::optional<int> days_left(const RunModel& model, const KnownFailureEntry& entry) {
  const auto started = parse_utc(model.plan().started);
  const auto expires = parse_day(entry.expires);
  if (!started || !expires) return std::nullopt;
  return days_between(day_of(*started), *expires);
}

std::string days_left_words(int days) {
  if (days == 0) return "the last day";
  const int count = std::abs(days);
  return days < 0 ? fmt::format("expired {} before", count_text(count, "day"))
                  : count_text(count, "day") + " left";
}

int hits(const RunModel& model, const KnownFailureEntry& entry) {
  return static_cast<int>(std::ranges::count_if(model.cases(), [&](const CaseRecord& record) {
    return record.end && record.end->known_failure_at == entry.at &&
           model.verdict(record).outcome == Outcome::kXfail;
  }));
}

}  // namespace proctor
