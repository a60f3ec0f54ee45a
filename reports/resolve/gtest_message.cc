#include "reports/resolve/gtest_message.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace proctor {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of_message(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

template <typename Belongs>
std::size_t skip_while(const Lines& lines, std::size_t at, Belongs belongs) {
  while (at < lines.size() && belongs(lines[at])) ++at;
  return at;
}

bool is_indented(std::string_view line) { return line.starts_with("  "); }
bool is_actual(std::string_view line) { return line.starts_with("  Actual: "); }

// "With diff:" and a unified difference.
std::size_t after_equality(const Lines& lines) {
  const std::size_t at = skip_while(
      lines, 1, [](std::string_view line) { return is_indented(line) || line == "Ignoring case"; });
  if (at == lines.size() || lines[at] != "With diff:") return at;
  return skip_while(lines, at + 1, [](std::string_view line) {
    return !line.empty() && std::string_view("@+- ").find(line.front()) != std::string_view::npos;
  });
}

// How many lines GoogleTest wrote; 0: unknown.
std::size_t lines_of_expectation(const Lines& lines) {
  if (lines.empty()) return 0;
  const std::string_view first = lines.front();
  if (first == "Failed") return 1;
  if (first == "Expected equality of these values:") return after_equality(lines);
  if (first.starts_with("Expected: ")) return skip_while(lines, 1, is_actual);
  if (first.starts_with("The difference between ")) {
    return skip_while(lines, 1, [](std::string_view line) {
      return line.find(" evaluates to ") != std::string_view::npos;
    });
  }
  if (!first.starts_with("Value of: ")) return 0;
  const std::size_t expected = skip_while(lines, 1, is_actual);
  if (expected == lines.size() || !lines[expected].starts_with("Expected: ")) return 0;
  return skip_while(lines, expected + 1, is_actual);
}

}  // namespace

std::string words_of_test_first(const std::string& message) {
  const Lines lines = lines_of_message(message);
  const std::size_t count = lines_of_expectation(lines);
  if (count == 0 || count >= lines.size()) return message;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < count; ++i) begin += lines[i].size() + 1;
  std::string words = message.substr(begin);
  while (words.ends_with('\n')) words.pop_back();
  if (words.find_first_not_of(" \t\r\n") == std::string::npos) return message;
  return lines.front() == "Failed" ? words : words + "\n" + message.substr(0, begin - 1);
}

}  // namespace proctor
