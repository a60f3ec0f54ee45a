#include "harness/cli/text_table.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "harness/base/text.h"
#include "reports/resolve/truncate.h"

namespace proctor::cli {
namespace {

constexpr std::size_t kColumnGap = 2;
constexpr std::size_t kCellBytes = 200;

std::string padded_line(const TextRow& row, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}", row[i], widths[i] + kColumnGap);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string row_paragraph(const TextRow& headings, const TextRow& row) {
  std::size_t width = 0;
  for (std::size_t i = 1; i < headings.size(); ++i) width = std::max(width, headings[i].size());
  std::string text = row[0] + '\n';
  for (std::size_t i = 1; i < row.size(); ++i)
    text += fmt::format("  {:<{}}  {}\n", headings[i], width, row[i]);
  return text;
}

}  // namespace

std::size_t columns_of_stdout() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string text_table(const TextRow& headings, std::vector<TextRow> rows, std::size_t columns) {
  std::vector<std::size_t> widths;
  for (const std::string& heading : headings) widths.push_back(heading.size());
  for (TextRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = row[i].empty() ? "-" : one_line(clean_text(row[i]), kCellBytes);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::size_t whole = kColumnGap * (widths.size() - 1);
  for (const std::size_t width : widths) whole += width;
  const bool fits = columns == 0 || whole <= columns;
  std::string text = fits ? padded_line(headings, widths) : "";
  for (const TextRow& row : rows) text += fits ? padded_line(row, widths) : row_paragraph(headings, row);
  return text;
}

}  // namespace proctor::cli
