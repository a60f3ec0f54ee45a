#include "harness/base/duration.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "harness/base/words.h"

namespace proctor {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array<Unit, 4> kUnits = {{{"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};
constexpr std::int64_t kMaxMs = std::int64_t{365} * 24 * 3'600'000;
constexpr std::string_view kDigits = "0123456789";

// Common wrong units, each with the unit that the error suggests.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kUnitNearMisses = {
    {{"msec", "ms"},
     {"msecs", "ms"},
     {"millis", "ms"},
     {"milliseconds", "ms"},
     {"sec", "s"},
     {"secs", "s"},
     {"second", "s"},
     {"seconds", "s"},
     {"min", "m"},
     {"mins", "m"},
     {"minute", "m"},
     {"minutes", "m"},
     {"hr", "h"},
     {"hrs", "h"},
     {"hour", "h"},
     {"hours", "h"}}};

constexpr std::string_view kForms = "Write a duration as 250ms, 30s, 2m or 1h.";

Error bad_duration(std::string_view text, std::string_view why, std::string hint = std::string(kForms)) {
  return Error::refused(fmt::format("'{}' is not a duration: {}", text, why), std::move(hint));
}

std::optional<std::int64_t> unit_ms(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return unit.ms;
  }
  return std::nullopt;
}

Error unknown_unit(std::string_view text, std::string_view number, std::string_view unit) {
  if (unit.empty()) {
    return bad_duration(text, "it has no unit", fmt::format("Did you mean '{0}s' or '{0}ms'?", number));
  }
  const std::string word = lower_case(unit.substr(std::min(unit.find_first_not_of(' '), unit.size())));
  std::string_view meant = unit_ms(word) ? std::string_view(word) : std::string_view();
  for (const auto& [wrong, right] : kUnitNearMisses) {
    if (word == wrong) meant = right;
  }
  if (meant.empty()) return bad_duration(text, fmt::format("unknown unit '{}'", unit));
  return bad_duration(text, fmt::format("unknown unit '{}'", unit),
                      fmt::format("Did you mean '{}{}'?", number, meant));
}

struct Scaled {
  std::int64_t ms = 0;
  bool whole = true;  // false if digits below a millisecond were cut off
};
// `number` is DIGITS[.DIGITS]. Returns nothing if the value is more than kMaxMs.
std::optional<Scaled> scale(std::string_view number, std::int64_t unit) {
  std::int64_t integer = 0;
  std::size_t at = 0;
  for (; at < number.size() && number[at] != '.'; ++at) {
    integer = integer * 10 + (number[at] - '0');
    if (integer > kMaxMs / unit) return std::nullopt;
  }
  Scaled result{integer * unit, true};
  std::int64_t fraction = 0;
  std::int64_t divisor = 1;
  for (++at; at < number.size(); ++at) {
    const int digit = number[at] - '0';
    // A whole number of milliseconds needs at most seven decimals (of an hour). The remaining digits must be
    // zeros.
    if (divisor > unit * 10) {
      if (digit != 0) result.whole = false;
      continue;
    }
    divisor *= 10;
    fraction = fraction * 10 + digit;
  }
  if (fraction * unit % divisor != 0) result.whole = false;
  result.ms += fraction * unit / divisor;
  if (result.ms > kMaxMs) return std::nullopt;
  return result;
}

}  // namespace

Result<Milliseconds> parse_duration(std::string_view text) {
  if (text.empty()) return bad_duration(text, "it is empty");
  if (text[0] == '-' || text[0] == '+') return bad_duration(text, "a sign is not allowed");
  const std::size_t integer_end = std::min(text.find_first_not_of(kDigits), text.size());
  if (integer_end == 0) return bad_duration(text, "it does not start with a digit");
  std::size_t number_end = integer_end;
  if (number_end < text.size() && text[number_end] == '.') {
    number_end = std::min(text.find_first_not_of(kDigits, integer_end + 1), text.size());
    if (number_end == integer_end + 1) return bad_duration(text, "no digit follows the point");
  }
  const std::string_view number = text.substr(0, number_end);
  const std::string_view unit_name = text.substr(number_end);
  const auto unit = unit_ms(unit_name);
  if (!unit) return unknown_unit(text, number, unit_name);
  const auto scaled = scale(number, *unit);
  if (!scaled) return bad_duration(text, "it is longer than 365 days", "The limit is 8760h.");
  if (!scaled->whole) return bad_duration(text, "it is not a whole number of milliseconds");
  return Milliseconds(scaled->ms);
}

std::string format_duration(Milliseconds duration) {
  const std::int64_t ms = duration.count();
  if (ms == 0) return "0s";
  for (const Unit& unit : kUnits) {
    if (ms % unit.ms == 0) return fmt::format("{}{}", ms / unit.ms, unit.name);
  }
  return fmt::format("{}ms", ms);
}

std::string human_duration(Milliseconds duration) {
  const std::int64_t ms = duration.count();
  if (ms < 1000) return fmt::format("{} ms", ms);
  const std::int64_t tenths = (ms + 50) / 100;
  if (tenths < 600) return fmt::format("{}.{} s", tenths / 10, tenths % 10);
  const std::int64_t seconds = (ms + 500) / 1000;
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  const std::int64_t minutes = (ms + 30'000) / 60'000;
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

}  // namespace proctor
