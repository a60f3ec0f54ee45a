// Markdown in which any text is only text, and a page of it that never grows beyond its limit. Example:
//
//   std::string list_of(const std::vector<std::string>& bad) {
//     MarkdownPage page(kJobSummaryBytes, "report.json");
//     page.title("\n## Not run\n\n");
//     for (const std::string& id : bad) page.add("- " + markdown_code(id) + "\n");
//     return std::move(page).finish();
//   }
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace proctor {

// GitHub drops the whole summary of a step beyond 1 MiB (actions/runner, CreateStepSummaryCommand); this is
// 10 % less.
inline constexpr std::size_t kJobSummaryBytes = 1024 * 1024 * 9 / 10;

// Any text as a code span on one line.
std::string markdown_code(std::string_view text);
// Any text as prose on one line: nothing in it is markup.
std::string markdown_prose(std::string_view text);
// The same of a line that is clean and may be long.
std::string markdown_escaped(std::string_view line);

// An entry is there as a whole or left out and counted. A title waits for its first entry.
class MarkdownPage {
 public:
  // `rest`: the file that has what does not fit.
  MarkdownPage(std::size_t limit, std::string rest) : limit_(limit), rest_(std::move(rest)) {}

  void title(std::string text) { title_ = std::move(text); }
  void add(std::string_view entry);
  std::string finish() &&;

 private:
  std::size_t limit_;
  std::string rest_;
  std::size_t left_out_ = 0;
  std::string title_;
  std::string text_;
};

}  // namespace proctor
