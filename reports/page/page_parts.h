// The small parts of a page's HTML.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace proctor {

std::string thousands(std::size_t number);  // "12,345"
std::string counted(std::size_t count, std::string_view one, std::string_view many);

// A value of the page's state, as it stands behind '#' in its address.
std::string state_value(std::string_view text);
// A link to the cases that the state selects: "outcome=fail&amp;suite=memory.xpu".
std::string state_link(const std::string& state, const std::string& html);
std::string case_link(const std::string& id);

// A short text with the colour of a look (page_cases.h), and its sign, which is what a black and white print has instead.
std::string badge_html(std::string_view look, const std::string& html);
std::string badge(std::string_view look, std::string_view text);

// "2026-01-31 12:00:00 UTC", of a stamp.
std::string time_html(const std::string& stamp);

std::string command_html(const std::string& command);

// A table, whose rows are cards on a narrow screen. Columns in which no row has anything are left out, and a
// title that begins with '#' is one of numbers.
class HtmlTable {
 public:
  explicit HtmlTable(std::vector<std::string_view> titles);

  void add(std::vector<std::string> cells);
  std::string html() const;

 private:
  std::vector<std::string_view> titles_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace proctor
