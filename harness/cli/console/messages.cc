#include "harness/cli/console/messages.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <random>

#include "harness/base/surroundings.h"
#include "harness/base/text.h"
#include "harness/base/workflow_commands.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/report_text.h"

namespace proctor::cli {

std::string shown(std::string_view text) {
  const std::string clean = without_hidden_controls(clean_text(text));
  return in_github_actions() ? WorkflowCommandGuard().pass(clean) : clean;
}

int fail(const Error& error) {
  std::fprintf(stderr, "proctor: %s\n", shown(error.message()).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  %s\n", shown(error.hint).c_str());
  const bool mistake = error.kind != ErrorKind::kSystem && error.kind != ErrorKind::kInternal;
  return mistake ? kExitUsage : kExitMachine;
}

void warn_not_recorded(const Error& error) {
  std::fprintf(stderr, "proctor: warning: the run is not recorded: %s\n", shown(error.message()).c_str());
}

int said_all(int code, const std::string& what) {
  const bool is_said = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  return is_said ? code : fail(Error::system("write " + what + " to stdout", errno));
}

void report_wait(const std::string& why) {
  std::fprintf(stderr, "proctor: the cases are listed with devices, and this waits for them: %s\n",
               shown(why).c_str());
}

int fail_exec(const Error& error) {
  const int code = fail(error);
  return error.kind == ErrorKind::kSystem ? code : kExecInternal;
}

std::string shown_json(std::string text) {
  constexpr std::string_view kCommand = "##[";
  if (!in_github_actions()) return text;
  for (auto at = text.find(kCommand); at != text.npos; at = text.find(kCommand, at))
    text.replace(at, 2, "#\\u0023");
  return text;
}

CommandPause::CommandPause() {
  std::random_device random;
  char word[9];
  for (int i = 0; i < 4; ++i) {
    std::snprintf(word, sizeof word, "%08x", static_cast<unsigned>(random()));
    token_ += word;
  }
  std::fprintf(stderr, "::stop-commands::%s\n", token_.c_str());
}

CommandPause::~CommandPause() { std::fprintf(stderr, "\n::%s::\n", token_.c_str()); }

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
