#include "harness/base/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "harness/base/words.h"

namespace proctor {

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

int compare_numbers(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  const int order = a.compare(b);
  return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

// Longer operators come first, so that ">=" is not parsed as ">".
constexpr std::array<std::string_view, 5> kOperators = {">=", "<=", ">", "<", "="};

bool holds(std::string_view op, int order) {
  if (op == ">=") return order >= 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  if (op == "<") return order < 0;
  return order == 0;
}

}  // namespace

Result<Version> Version::parse(std::string_view text) {
  if (text.empty() || !is_digit(text[0])) {
    return Error::usage(fmt::format("read version \"{}\": it does not begin with a number", text));
  }
  Version version;
  std::size_t at = 0;
  while (at < text.size() && is_digit(text[at])) {
    const std::size_t begin = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    std::string_view number = text.substr(begin, at - begin);
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    version.numbers_.emplace_back(number);
    if (at < text.size() && text[at] == '.') ++at;
  }
  return version;
}

int compare(const Version& a, const Version& b) {
  const std::size_t count = std::max(a.numbers_.size(), b.numbers_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const int order = compare_numbers(i < a.numbers_.size() ? a.numbers_[i] : std::string(),
                                      i < b.numbers_.size() ? b.numbers_[i] : std::string());
    if (order != 0) return order;
  }
  return 0;
}

Result<VersionRange> VersionRange::parse(std::string_view text) {
  VersionRange range;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view condition = trimmed(rest.substr(0, comma));
    const auto op = std::find_if(kOperators.begin(), kOperators.end(), [&](std::string_view candidate) {
      return condition.starts_with(candidate);
    });
    if (op == kOperators.end()) {
      return Error::usage(fmt::format("read version range \"{}\": \"{}\" has no operator", text, condition),
                          "Write conditions such as \">=22.43, <22.44\".");
    }
    const std::string_view number = trimmed(condition.substr(op->size()));
    // A person writes a range. Text that Version::parse() would ignore is a mistake in a range.
    const bool plain = !number.empty() && is_digit(number.front()) && is_digit(number.back()) &&
                       number.find_first_not_of("0123456789.") == std::string_view::npos &&
                       number.find("..") == std::string_view::npos;
    if (!plain) {
      return Error::usage(
          fmt::format("read version range \"{}\": \"{}\" is not a dotted number", text, number));
    }
    range.conditions_.push_back({std::string(*op), *Version::parse(number)});
    if (comma == std::string_view::npos) return range;
    rest.remove_prefix(comma + 1);
  }
}

bool VersionRange::contains(const Version& version) const {
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& condition) {
    return holds(condition.op, compare(version, condition.version));
  });
}

}  // namespace proctor
