// Escapes arbitrary text for Markdown, and builds a page with a size limit. summary.md, gate
// and comparison use it. Example:
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

// GitHub drops the complete summary of a step beyond 1 MiB (actions/runner,
// CreateStepSummaryCommand). This is 10 % less.
inline constexpr std::size_t kJobSummaryBytes = 1024 * 1024 * 9 / 10;

// Returns any text as a code span on one line.
std::string markdown_code(std::string_view text);
// Returns any text as prose on one line, with all markup escaped.
std::string markdown_prose(std::string_view text);
// The same for a line that is already clean and may be long.
std::string markdown_escaped(std::string_view line);

// A page with a size limit. An entry is added completely, or it is omitted and counted. A title
// is written with its first entry.
class MarkdownPage {
 public:
  // `rest` is the name of the file that has the omitted entries.
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
