#include "harness/devices/masks/mask.h"

#include <charconv>
#include <cstdint>
#include <limits>

#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kDigits = "0123456789";
constexpr std::uint64_t kMaxOrdinal = std::numeric_limits<std::uint32_t>::max();

std::string_view leading_digits(std::string_view text) {
  return text.substr(0, std::min(text.find_first_not_of(kDigits), text.size()));
}

bool is_hexadecimal(std::string_view text) { return text.starts_with("0x") || text.starts_with("0X"); }

std::optional<std::uint64_t> parse_number(std::string_view digits, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<int> parse_count(std::string_view text, int max) {
  const auto value = parse_ordinal(text);
  if (!value || *value == 0 || *value > static_cast<unsigned>(max)) return std::nullopt;
  return static_cast<int>(*value);
}

// Expands a range: "0-2" is "0,1,2". Returns "" if the text is not a short range.
std::string expand_range(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return {};
  const auto first = parse_ordinal(text.substr(0, dash));
  const auto last = parse_ordinal(text.substr(dash + 1));
  if (!first || !last || *first > *last || *last - *first > 63) return {};
  std::string list;
  for (std::uint64_t n = *first; n <= *last; ++n) {
    if (!list.empty()) list += ',';
    list += std::to_string(n);
  }
  return list;
}

std::string spell_ordinal(std::string_view digits, int base) {
  const auto value = parse_number(digits, base);
  return value && *value <= kMaxOrdinal ? std::to_string(*value) : std::string();
}

// Repairs one entry without separators: returns ordinals that parse_ordinal() accepts, or "" if the meaning
// is unclear.
std::string repair_ordinal(std::string_view text) {
  if (auto range = expand_range(text); !range.empty()) return range;
  if (is_hexadecimal(text)) return spell_ordinal(text.substr(2), 16);
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view digits = leading_digits(text);
  // Letters after the number are a unit ("1gpu"). Other characters could change the meaning.
  for (const char c : text.substr(digits.size())) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return {};
  }
  return spell_ordinal(digits, 10);
}

}  // namespace

std::string_view to_string(Hierarchy hierarchy) {
  switch (hierarchy) {
    case Hierarchy::kFlat:
      return "FLAT";
    case Hierarchy::kComposite:
      return "COMPOSITE";
    case Hierarchy::kCombined:
      return "COMBINED";
  }
  return "";
}

Result<Hierarchy> parse_hierarchy(std::string_view text) {
  std::vector<std::string> names;
  for (const Hierarchy hierarchy : kAllHierarchies) {
    if (text == to_string(hierarchy)) return hierarchy;
    names.emplace_back(to_string(hierarchy));
  }
  const std::string near = near_miss(upper_case(text), names);
  return Error::refused(
      "the hierarchy must be FLAT, COMPOSITE or COMBINED, in capitals (got " + in_quotes(text) + ")",
      near.empty() ? std::string() : "Did you mean '" + near + "'?");
}

std::optional<Hierarchy> parse_hierarchy_word(std::string_view word) {
  if (word == "flat") return Hierarchy::kFlat;
  if (word == "composite") return Hierarchy::kComposite;
  if (word == "combined") return Hierarchy::kCombined;
  return std::nullopt;
}

Result<Topology> parse_topology(std::string_view text) {
  const auto x = text.find('x');
  const auto cards = parse_count(text.substr(0, x), 1024);
  const auto tiles = x == std::string_view::npos ? std::optional(1) : parse_count(text.substr(x + 1), 64);
  if (cards && tiles) return Topology{*cards, *tiles};
  return Error::refused(
      "the topology must be CARDSxTILES (at most 1024x64) or a number of cards (got " + in_quotes(text) + ")",
      "For two cards with four tiles each, write '2x4'.");
}

std::string to_string(const Topology& topology) {
  return std::to_string(topology.cards) + "x" + std::to_string(topology.tiles);
}

std::vector<MaskEntry> split_mask(std::string_view value) {
  std::vector<MaskEntry> entries;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    const std::string_view piece = value.substr(begin, end - begin);
    const std::string_view text = trimmed(piece, kBlanks);
    const std::size_t offset = text.empty() ? 0 : piece.find_first_not_of(kBlanks);
    entries.push_back(
        {std::string(text), entries.size() + 1, begin + offset + 1, text.size() != piece.size()});
    if (end == value.size()) return entries;
    begin = end + 1;
  }
}

std::string to_string(const MaskEntry& entry) {
  return "entry " + std::to_string(entry.number) + " " + in_quotes(entry.text);
}

std::optional<unsigned> parse_ordinal(std::string_view text) {
  if (text.empty() || text.find_first_not_of(kDigits) != std::string_view::npos) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  const auto value = parse_number(text, 10);
  if (!value || *value > kMaxOrdinal) return std::nullopt;
  return static_cast<unsigned>(*value);
}

std::string why_not_ordinal(std::string_view text) {
  if (text.empty()) return "is empty";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return "is not written in ASCII digits";
  }
  if (text.front() == '-') return "is negative";
  if (text.front() == '+') return "has a sign";
  if (is_hexadecimal(text)) return "is hexadecimal";
  const std::string_view digits = leading_digits(text);
  if (digits.empty()) return "is not a number";
  if (digits.size() < text.size())
    return "has " + in_quotes(text.substr(digits.size())) + " after the number";
  if (digits.front() == '0') return "has a leading zero";
  return "is larger than 4294967295";
}

std::string repair_ordinals(std::string_view value) {
  std::string list;
  std::size_t begin = 0;
  while (begin < value.size()) {
    const std::size_t end = std::min(value.find_first_of(",;:| \t", begin), value.size());
    if (end > begin) {
      const std::string entry = repair_ordinal(value.substr(begin, end - begin));
      if (entry.empty()) return {};
      if (!list.empty()) list += ',';
      list += entry;
    }
    begin = end + 1;
  }
  return list;
}

std::string in_quotes(std::string_view text) {
  std::string visible;
  for (const char c : clean_text(text)) {
    if (c == '\n') {
      visible += "\\n";
    } else if (c == '\r') {
      visible += "\\r";
    } else if (c == '\t') {
      visible += "\\t";
    } else {
      visible += c;
    }
  }
  return "'" + visible + "'";
}

}  // namespace proctor
