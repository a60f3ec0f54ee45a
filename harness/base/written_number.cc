#include "harness/base/written_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace proctor {
namespace {

constexpr std::size_t kThousand = 3;  // digits of a group; in India, the groups before the last have two

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the length of the thousands separator at the start of `text`, or 0. A no-break space has two or three bytes.
std::size_t separator_length(std::string_view text) {
  constexpr std::array<std::string_view, 8> kSeparators = {
      ".", ",", "'", " ", "_", "\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x99"};
  for (const std::string_view separator : kSeparators) {
    if (text.starts_with(separator)) return separator.size();
  }
  return 0;
}

// Turns "1.204" into "1204". Returns nothing unless the text is groups of digits with one separator.
std::optional<std::string> without_separators(std::string_view text) {
  std::string digits;
  std::string_view separator;
  std::size_t group = 0;  // digits in it
  while (!text.empty()) {
    if (is_decimal_digit(text.front())) {
      digits += text.front();
      ++group;
      text.remove_prefix(1);
      continue;
    }
    const std::string_view next = text.substr(0, separator_length(text));
    const bool fits = separator.empty() ? group >= 1 && group <= kThousand
                                        : next == separator && (group == kThousand || group == kThousand - 1);
    if (next.empty() || !fits) return std::nullopt;
    separator = next;
    group = 0;
    text.remove_prefix(next.size());
  }
  if (digits.empty() || (!separator.empty() && group != kThousand)) return std::nullopt;
  return digits;
}

// A number in parts: "-1.234,5e+01" has the sign "-", the digits "1.234,5" and the exponent "e+01".
struct Parts {
  std::string_view sign;
  std::string_view digits;
  std::string_view exponent;
};

Parts parts_of(std::string_view text) {
  Parts parts;
  if (text.starts_with('-') || text.starts_with('+')) parts.sign = text.substr(0, 1);
  text.remove_prefix(parts.sign.size());
  const std::size_t end = std::min(text.find_first_of("eE"), text.size());
  parts.digits = text.substr(0, end);
  parts.exponent = text.substr(end);
  return parts;
}

// Returns whether the only mark in the digits cannot be a thousands separator.
bool is_decimal(const Parts& parts, std::size_t mark) {
  const std::size_t before = mark, after = parts.digits.size() - mark - 1;
  return after != kThousand || before == 0 || before > kThousand || parts.digits.front() == '0' ||
         !parts.exponent.empty();
}

}  // namespace

std::optional<std::int64_t> written_count(std::string_view text) {
  const Parts parts = parts_of(text);
  const auto digits = parts.exponent.empty() ? without_separators(parts.digits) : std::nullopt;
  if (!digits) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits->data(), digits->data() + digits->size(), value);
  if (error != std::errc() || end != digits->data() + digits->size()) return std::nullopt;
  return parts.sign == "-" ? -value : value;
}

void NumberForm::see(std::string_view number) {
  const Parts parts = parts_of(number);
  if (!std::ranges::all_of(parts.digits, [](char c) { return is_decimal_digit(c) || c == '.' || c == ','; }))
    return;
  const auto points = std::ranges::count(parts.digits, '.'), commas = std::ranges::count(parts.digits, ',');
  const std::size_t point = parts.digits.rfind('.'), comma = parts.digits.rfind(',');
  if (points > 0 && commas > 0) {
    (point > comma ? has_point_ : has_comma_) = true;
  } else if (points > 1) {
    has_comma_ = true;
  } else if (commas > 1) {
    has_point_ = true;
  } else if (points == 1) {
    has_point_ = has_point_ || is_decimal(parts, point);
  } else if (commas == 1) {
    has_comma_ = has_comma_ || is_decimal(parts, comma);
  }
}

std::optional<double> NumberForm::figure(std::string_view number) const {
  const Parts parts = parts_of(number);
  const bool has_mark = parts.digits.find_first_of(".,") != parts.digits.npos;
  if (has_mark && has_point_ == has_comma_ && (has_point_ || parts.digits.find(',') != parts.digits.npos))
    return std::nullopt;
  const char mark = has_comma_ && !has_point_ ? ',' : '.';
  const std::size_t at = std::min(parts.digits.find(mark), parts.digits.size());
  const std::string_view fraction = parts.digits.substr(std::min(at + 1, parts.digits.size()));
  const auto whole = at == 0 ? std::string("0") : without_separators(parts.digits.substr(0, at));
  if (!whole || parts.digits.empty() || !std::ranges::all_of(fraction, is_decimal_digit)) return std::nullopt;
  const std::string plain = std::string(parts.sign == "-" ? "-" : "") + *whole + "." + std::string(fraction) +
                            "0" + std::string(parts.exponent);
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  const bool is_number = error == std::errc() && end == plain.data() + plain.size() && std::isfinite(value);
  return is_number ? std::optional(value) : std::nullopt;
}

}  // namespace proctor
