#include "reports/compare/single_byte_text.h"

#include <algorithm>
#include <array>

#include "harness/base/words.h"

namespace proctor {
namespace {

// A byte whose character differs from ISO-8859-1, where both have the same number.
struct Difference {
  unsigned char byte;
  char16_t character;
};

// Source: ISO/IEC 8859-15.
constexpr Difference kLatin9[] = {{0xA4, 0x20AC}, {0xA6, 0x0160}, {0xA8, 0x0161}, {0xB4, 0x017D},
                                  {0xB8, 0x017E}, {0xBC, 0x0152}, {0xBD, 0x0153}, {0xBE, 0x0178}};

// Source: encoding.spec.whatwg.org, index-windows-1252.txt; five bytes are undefined in windows-1252.
constexpr Difference kWindows1252[] = {
    {0x80, 0x20AC}, {0x81, 0xFFFD}, {0x82, 0x201A}, {0x83, 0x0192}, {0x84, 0x201E}, {0x85, 0x2026},
    {0x86, 0x2020}, {0x87, 0x2021}, {0x88, 0x02C6}, {0x89, 0x2030}, {0x8A, 0x0160}, {0x8B, 0x2039},
    {0x8C, 0x0152}, {0x8D, 0xFFFD}, {0x8E, 0x017D}, {0x8F, 0xFFFD}, {0x90, 0xFFFD}, {0x91, 0x2018},
    {0x92, 0x2019}, {0x93, 0x201C}, {0x94, 0x201D}, {0x95, 0x2022}, {0x96, 0x2013}, {0x97, 0x2014},
    {0x98, 0x02DC}, {0x99, 0x2122}, {0x9A, 0x0161}, {0x9B, 0x203A}, {0x9C, 0x0153}, {0x9D, 0xFFFD},
    {0x9E, 0x017E}, {0x9F, 0x0178}};

using Table = std::array<char16_t, 256>;

template <typename Differences>
Table table_of(const Differences& differences) {
  Table table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) table[byte] = static_cast<char16_t>(byte);
  for (const Difference& one : differences) table[one.byte] = one.character;
  return table;
}

std::optional<Table> table_of_encoding(const std::string& name) {
  constexpr std::array<std::string_view, 4> kNamesOfLatin1 = {"iso-8859-1", "iso8859-1", "iso_8859-1",
                                                              "latin1"};
  constexpr std::array<std::string_view, 4> kNamesOfLatin9 = {"iso-8859-15", "iso8859-15", "iso_8859-15",
                                                              "latin-9"};
  constexpr std::array<std::string_view, 3> kNamesOfWindows = {"windows-1252", "cp1252", "ansi"};
  const auto is_in = [&](const auto& names) { return std::ranges::find(names, name) != names.end(); };
  if (is_in(kNamesOfLatin1)) return table_of(std::array<Difference, 0>());
  if (is_in(kNamesOfLatin9)) return table_of(kLatin9);
  if (is_in(kNamesOfWindows)) return table_of(kWindows1252);
  return std::nullopt;
}

// Appends a character of the Basic Multilingual Plane as UTF-8.
void append(char16_t character, std::string& text) {
  const auto add = [&](unsigned byte) { text += static_cast<char>(byte); };
  if (character < 0x80) return add(character);
  if (character < 0x800) {
    add(0xC0U | character >> 6);
  } else {
    add(0xE0U | character >> 12);
    add(0x80U | (character >> 6 & 0x3F));
  }
  add(0x80U | (character & 0x3F));
}

}  // namespace

bool is_utf8(std::string_view encoding) {
  const std::string name = lower_case(encoding);
  return name.starts_with("utf") || name == "us-ascii" || name == "ascii";
}

std::optional<std::string> utf8_of(std::string_view text, std::string_view encoding) {
  const auto table = table_of_encoding(lower_case(encoding));
  if (!table) return std::nullopt;
  std::string utf8;
  utf8.reserve(text.size() + text.size() / 8);
  for (const char c : text) append((*table)[static_cast<unsigned char>(c)], utf8);
  return utf8;
}

}  // namespace proctor
