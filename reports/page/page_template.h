// Fills templates/page.html (Mustache) in pieces. A name at the top level of the template is requested from `sections`
// when the template reaches it, so that only one section is in memory. In a section, a name is a field of the innermost
// object only. Every text is cleaned, reduced to one line and cut here, and the template escapes it, so no text of a
// section is markup. Numbers are written with thousands separators. Empty and null values are false. The first object
// of a list has the field `first`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/number_text.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/formats/text_output.h"

namespace proctor {

// The values for the names in a template.
struct PageFill {
  std::function<nlohmann::json(const std::string& name)> sections{};
  // Returns text that is written without escaping, or null. It must never return text of a run.
  std::function<const std::string*(const std::string& name)> raw{};
};

// Adds the number of written bytes to `written`.
void fill_page(const PageFill& fill, TextOutput& output, std::size_t& written);

// The style, the script and the template at the time of the build.
std::string_view page_style();
std::string_view page_script();
std::string_view page_template();  // page.html with the partial templates that it names

// ---- Helpers for sections ----

// Encodes a value of the page's state, which is the part of the address after '#'.
std::string state_value(std::string_view text);
// Returns a number with a link to the cases that the state selects: "outcome=fail&suite=memory.xpu".
nlohmann::json linked(std::size_t number, const std::string& state);

// For ids.html: a case with or without its link.
nlohmann::json case_link(const std::string& id);
nlohmann::json plain_id(const std::string& id);

// For badge.html: a short text with the colour and the sign of a look (page_cases.h). The sign replaces the colour in a
// black and white print.
nlohmann::json badge(std::string_view style, std::string_view text);
nlohmann::json badge_of(RunVerdict verdict);
// Returns a badge such as "crash · SIGSEGV", with the code as its tooltip.
nlohmann::json badge_of(std::string_view style, const Verdict& verdict);

// Returns "2026-01-31 12:00:00 UTC" for a stamp.
std::string time_text(const std::string& stamp);
// Returns the first characters of a digest.
std::string short_digest(const std::string& digest);

// Cells of a table. An empty text gives null.
nlohmann::json badge_cell(std::string_view style, std::string_view text);
nlohmann::json code_cell(const std::string& text);
nlohmann::json case_cell(const std::string& id);  // with its link

// Returns the number of items after the first `most`; null if there are none.
nlohmann::json beyond(std::size_t all, std::size_t most);
// Returns null for an empty list, because otherwise the template would show the title of the list.
nlohmann::json listed(nlohmann::json list);
nlohmann::json said_lines(const std::vector<std::string>& lines, std::size_t most = std::string::npos);

// Returns the first `most` items, converted by `view`.
template <typename Items, typename View>
nlohmann::json first_of(const Items& items, std::size_t most, const View& view) {
  auto list = nlohmann::json::array();
  for (const auto& item : items) {
    if (list.size() == most) break;
    list.push_back(view(item));
  }
  return list;
}

// Returns the first `most` ids for ids.html, and the number of omitted ones.
template <typename Items, typename View>
nlohmann::json ids_of(const Items& items, std::size_t most, const View& view) {
  return {{"ids", first_of(items, most, view)}, {"more", beyond(items.size(), most)}};
}

// Returns the approximate number of HTML bytes that the texts of `value` need.
std::size_t html_bytes(const nlohmann::json& value);

// A table for table.html, whose rows are cards on a narrow screen. A cell is a text, a number, null or the fields of
// cell.html. Columns without any value are omitted. A title that begins with '#' marks a column of numbers.
class PageTable {
 public:
  explicit PageTable(std::vector<std::string_view> titles, std::size_t most_bytes = std::string::npos);

  // Adds a row, or counts it as omitted if the table is full.
  void add(std::vector<nlohmann::json> cells);
  nlohmann::json view() const;  // null without rows

 private:
  std::vector<std::string_view> titles_;
  std::size_t most_bytes_;
  std::vector<std::vector<nlohmann::json>> rows_;
  std::size_t bytes_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace proctor
