#include "reports/resolve/truncate.h"

#include <fmt/core.h>

#include <algorithm>

namespace proctor {
namespace {

constexpr std::string_view kMore = "...";

bool inside_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

}  // namespace

std::string one_line(std::string_view text, std::size_t limit) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::string line;
  std::size_t at = text.find_first_not_of(kSpace);
  while (at != text.npos && line.size() <= limit) {
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    if (!line.empty()) line += ' ';
    line += text.substr(at, std::min(end - at, limit + 1));
    at = text.find_first_not_of(kSpace, end);
  }
  return truncate(line, limit);
}

std::string both_ends(std::string_view text, std::size_t limit) {
  const std::string line = one_line(text, text.size());
  if (line.size() <= limit) return line;
  const std::string head = truncate(line, limit / 3);
  std::size_t tail = line.size() - (limit - head.size());
  while (inside_character(line, tail)) ++tail;
  return head + line.substr(tail);
}

std::string truncate(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  std::size_t end = limit - kMore.size();
  while (inside_character(text, end)) --end;
  return std::string(text.substr(0, end)) + std::string(kMore);
}

std::string elide_middle(std::string_view text) {
  if (text.size() <= kShownHeadBytes + kShownTailBytes) return std::string(text);
  std::size_t head = kShownHeadBytes;
  while (inside_character(text, head)) --head;
  std::size_t tail = text.size() - kShownTailBytes;
  while (inside_character(text, tail)) ++tail;
  return fmt::format("{}\n[proctor: {} bytes cut here]\n{}", text.substr(0, head), tail - head,
                     text.substr(tail));
}

}  // namespace proctor
