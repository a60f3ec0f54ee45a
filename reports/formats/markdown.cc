#include "reports/formats/markdown.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "harness/base/text.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxLineBytes = 1000;
constexpr std::size_t kCutNoteBytes = 200;  // for the sentence about the omitted entries

std::string shown_line(std::string_view text) {
  return one_line(without_hidden_controls(clean_text(text)), kMaxLineBytes);
}

}  // namespace

// CommonMark 6.1: the fence is longer than any sequence of backticks in the text.
std::string markdown_code(std::string_view text) {
  const std::string line = shown_line(text);
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : line) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const std::string pad = longest > 0 ? " " : "";
  return line.empty() ? "(empty)" : fence + pad + line + pad + fence;
}

std::string markdown_prose(std::string_view text) { return markdown_escaped(shown_line(text)); }

std::string markdown_escaped(std::string_view line) {
  std::string out;
  for (const char c : line) {
    if (std::string_view("\\`*_[]<>#|!&~").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

void MarkdownPage::add(std::string_view entry) {
  if (text_.size() + title_.size() + entry.size() + kCutNoteBytes > limit_) {
    ++left_out_;
    return;
  }
  text_ += std::exchange(title_, {});
  text_ += entry;
}

std::string MarkdownPage::finish() && {
  if (left_out_ > 0) {
    const std::string note = fmt::format(
        "\n> **Cut**: {} entries did not fit into {} bytes, what a job summary may hold; `{}` has all.\n",
        left_out_, limit_, rest_);
    if (text_.size() + note.size() <= limit_) text_ += note;
  }
  return std::move(text_);
}

}  // namespace proctor
