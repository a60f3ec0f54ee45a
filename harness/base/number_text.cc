#include "harness/base/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "harness/base/words.h"

namespace proctor {
namespace {

constexpr std::string_view kSizeUnits = "KMGT";
constexpr std::uint64_t kLeastSize = 1ull << 20, kMostSize = 1ull << 50;

constexpr const char* kForm = "Sizes are written as 512M or 4G.";

Error bad_size(std::string_view text, std::string_view why, std::string hint = kForm) {
  return Error::refused(fmt::format("'{}' is not a size: {}", text, why), std::move(hint));
}

// Returns the exponent of 1024 for a unit.
std::optional<int> power_of(std::string_view unit) {
  if (unit.size() == 3 && unit.ends_with("iB")) unit = unit.substr(0, 1);
  const auto found = unit.size() == 1 ? kSizeUnits.find(unit.front()) : kSizeUnits.npos;
  return found == kSizeUnits.npos ? std::nullopt : std::optional(static_cast<int>(found) + 1);
}

// Suggests only sizes that are valid.
std::string suggested(std::string_view number, std::string_view letters) {
  std::string words;
  for (const char letter : letters) {
    const std::string size = std::string(number) + letter;
    if (parse_memory_size(size)) words += fmt::format("{}'{}'", words.empty() ? "" : " or ", size);
  }
  return words.empty() ? kForm : fmt::format("Did you mean {}?", words);
}

// Returns the unit that was probably meant: `gb`, `GB`, `Gi` and `mib` are not units, but begin with one.
std::string meant(std::string_view number, std::string_view unit) {
  const std::string word = lower_case(unit.substr(std::min(unit.find_first_not_of(' '), unit.size())));
  for (const char letter : kSizeUnits) {
    const std::string lower = lower_case(std::string(1, letter));
    if (word == lower || word == lower + "b" || word == lower + "i" || word == lower + "ib")
      return suggested(number, std::string(1, letter));
  }
  return word.empty() ? suggested(number, "MG") : kForm;
}

}  // namespace

Result<std::uint64_t> parse_memory_size(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(number))
    return bad_size(text, "it does not begin with a number");
  if (number < 0) return bad_size(text, "it is below zero");
  const auto digits = static_cast<std::size_t>(end - text.data());
  const auto power = power_of(text.substr(digits));
  if (!power && number == 0)
    return bad_size(text, "it is less than 1M", "Without this limit, a process may take all of the memory.");
  if (!power) {
    return bad_size(text, text.size() == digits ? "it has no unit" : "it has an unknown unit",
                    meant(text.substr(0, digits), text.substr(digits)));
  }
  const double bytes = std::ldexp(number, 10 * *power);
  if (bytes < static_cast<double>(kLeastSize)) return bad_size(text, "it is less than 1M");
  if (bytes > static_cast<double>(kMostSize)) return bad_size(text, "it is more than 1024T");
  // a multiple of 1 KiB has an exact text with a unit
  return static_cast<std::uint64_t>(bytes) / 1024 * 1024;
}

std::string format_memory_size(std::uint64_t bytes) {
  int power = 0;
  while (power < static_cast<int>(kSizeUnits.size()) && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++power;
  }
  return fmt::format("{}{}", bytes,
                     power == 0 ? "" : std::string(1, kSizeUnits[static_cast<std::size_t>(power) - 1]));
}

namespace {

constexpr std::size_t kThousand = 3;  // digits of a group; in India, all groups except the last have two

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
  std::size_t group = 0;  // digits in the group
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
