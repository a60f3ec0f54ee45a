// The clock of a run, timestamps and days. Deadlines use the monotonic clock only. The wall clock is used
// only in output.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/result.h"

namespace proctor {

using Clock = std::chrono::steady_clock;

// Returns the time in UTC with Z and whole seconds: "2026-01-31T12:00:00Z".
std::string utc_now();

// ---- Days and moments in UTC, as they are written in files ----

using Day = std::chrono::year_month_day;

// Parses "2027-06-30". Returns nothing for other text, and for days that do not exist in the calendar.
std::optional<Day> parse_day(std::string_view text);
std::string day_text(Day day);
// The result is negative if `to` is before `from`.
int days_between(Day from, Day to);

// Parses "2027-06-30T12:00:00Z". A day alone is its first moment.
std::optional<std::chrono::sys_seconds> parse_utc(std::string_view text);
std::string utc_text(std::chrono::sys_seconds moment);
Day day_of(std::chrono::sys_seconds moment);
// Parses the value of an option such as --as-of. Returns the current time if the option is not set.
Result<std::chrono::sys_seconds> moment_of(const std::string& option, const std::optional<std::string>& text);

}  // namespace proctor
