// The clock of a run, time stamps, and days. Deadlines use the monotonic clock only; the wall clock is for
// people.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/result.h"

namespace proctor {

using Clock = std::chrono::steady_clock;

// UTC with Z, whole seconds: "2026-01-31T12:00:00Z".
std::string utc_now();

// ---- Days and moments in UTC, as people and files write them ----

using Day = std::chrono::year_month_day;

// "2027-06-30"; none for anything else, also for a day that no calendar has.
std::optional<Day> parse_day(std::string_view text);
std::string day_text(Day day);
// Below zero when `to` is before `from`.
int days_between(Day from, Day to);

// "2027-06-30T12:00:00Z"; a day alone is its first moment.
std::optional<std::chrono::sys_seconds> parse_utc(std::string_view text);
std::string utc_text(std::chrono::sys_seconds moment);
Day day_of(std::chrono::sys_seconds moment);
// What an option such as --as-of is given; now where it is not given.
Result<std::chrono::sys_seconds> moment_of(const std::string& option, const std::optional<std::string>& text);

}  // namespace proctor
