#include "harness/base/memory_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "harness/base/words.h"

namespace proctor {
namespace {

constexpr std::string_view kUnits = "KMGT";
constexpr std::uint64_t kLeast = 1ull << 20, kMost = 1ull << 50;

constexpr const char* kForm = "Sizes are written as 512M or 4G.";

Error bad_size(std::string_view text, std::string_view why, std::string hint = kForm) {
  return Error::refused(fmt::format("'{}' is not a size: {}", text, why), std::move(hint));
}

// The power of 1024 that a unit means.
std::optional<int> power_of(std::string_view unit) {
  if (unit.size() == 3 && unit.ends_with("iB")) unit = unit.substr(0, 1);
  const auto found = unit.size() == 1 ? kUnits.find(unit.front()) : kUnits.npos;
  return found == kUnits.npos ? std::nullopt : std::optional(static_cast<int>(found) + 1);
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

// `gb`, `GB`, `Gi` and `mib` are no units; what they begin with is.
std::string meant(std::string_view number, std::string_view unit) {
  const std::string word = lower_case(unit.substr(std::min(unit.find_first_not_of(' '), unit.size())));
  for (const char letter : kUnits) {
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
  if (bytes < static_cast<double>(kLeast)) return bad_size(text, "it is less than 1M");
  if (bytes > static_cast<double>(kMost)) return bad_size(text, "it is more than 1024T");
  return static_cast<std::uint64_t>(bytes) / 1024 * 1024;  // so that it can be written with a unit again
}

std::string format_memory_size(std::uint64_t bytes) {
  int power = 0;
  while (power < static_cast<int>(kUnits.size()) && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++power;
  }
  return fmt::format("{}{}", bytes,
                     power == 0 ? "" : std::string(1, kUnits[static_cast<std::size_t>(power) - 1]));
}

}  // namespace proctor
