#include "harness/base/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "harness/base/text.h"

namespace proctor {
namespace {

std::string format_utc_now(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

}  // namespace

std::string utc_now() { return format_utc_now("%Y-%m-%dT%H:%M:%SZ"); }

namespace {

// Parses a text that consists of digits only.
std::optional<unsigned> number(std::string_view digits) {
  unsigned value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value;
}

}  // namespace

std::optional<Day> parse_day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = number(text.substr(0, 4));
  const auto month = number(text.substr(5, 2));
  const auto day = number(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const Day parsed(std::chrono::year(static_cast<int>(*year)), std::chrono::month(*month),
                   std::chrono::day(*day));
  return parsed.ok() ? std::optional(parsed) : std::nullopt;
}

std::string day_text(Day day) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

int days_between(Day from, Day to) {
  return static_cast<int>((std::chrono::sys_days(to) - std::chrono::sys_days(from)).count());
}

std::optional<std::chrono::sys_seconds> parse_utc(std::string_view text) {
  const auto day = parse_day(text.substr(0, 10));
  if (!day) return std::nullopt;
  const std::chrono::sys_seconds midnight = std::chrono::sys_days(*day);
  if (text.size() == 10) return midnight;
  if (text.size() != 20 || text[10] != 'T' || text[13] != ':' || text[16] != ':' || text[19] != 'Z')
    return std::nullopt;
  const auto hour = number(text.substr(11, 2));
  const auto minute = number(text.substr(14, 2));
  const auto second = number(text.substr(17, 2));
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  return midnight + std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(*second);
}

std::string utc_text(std::chrono::sys_seconds moment) {
  const std::chrono::hh_mm_ss clock(moment - std::chrono::floor<std::chrono::days>(moment));
  return fmt::format("{}T{:02}:{:02}:{:02}Z", day_text(day_of(moment)), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

Day day_of(std::chrono::sys_seconds moment) { return Day(std::chrono::floor<std::chrono::days>(moment)); }

Result<std::chrono::sys_seconds> moment_of(const std::string& option,
                                           const std::optional<std::string>& text) {
  if (!text) return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (const auto moment = parse_utc(*text)) return *moment;
  return Error::refused(fmt::format("{} must be a time in UTC (got {})", option, shell_quote(*text)),
                        "Write 2026-11-23T12:00:00Z, or a day: 2026-11-23.");
}

}  // namespace proctor
