// Fills templates/page.html (Mustache), in pieces. A name at the top of the template is asked of `sections` when the
// template comes to it, so that one section is held at a time; within a section a name is a field of the innermost object
// and of no other. Every text is cleaned, made one line and cut here, and the template escapes it: nothing that a section
// gives is markup. A number is written with its thousands, and what is empty or null is false. The first object of a list
// has the field `first`.
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

struct PageFill {
  std::function<nlohmann::json(const std::string& name)> sections{};
  // What stands in the page as it is, or null: it is none of somebody else's.
  std::function<const std::string*(const std::string& name)> raw{};
};

// `written` grows with what the template gave so far.
void fill_page(const PageFill& fill, TextOutput& output, std::size_t& written);

// The style, the script and the template, with the parts that it names, as they were when this was built.
std::string_view page_style();
std::string_view page_script();
std::string_view page_template();  // page.html, with the parts that it names

// ---- What sections give ----

// A value of the page's state, as it stands behind '#' in its address.
std::string state_value(std::string_view text);
// A text that is a link to the cases that the state selects: "outcome=fail&suite=memory.xpu".
nlohmann::json linked(std::size_t number, const std::string& state);

// ids.html: a case, with its link or without.
nlohmann::json case_link(const std::string& id);
nlohmann::json plain_id(const std::string& id);

// badge.html: a short text with the colour of a look (page_cases.h), and its sign, which is what a black and white print
// has instead.
nlohmann::json badge(std::string_view style, std::string_view text);
nlohmann::json badge_of(RunVerdict verdict);
// "crash · SIGSEGV"; its tooltip has the code.
nlohmann::json badge_of(std::string_view style, const Verdict& verdict);

// "2026-01-31 12:00:00 UTC", of a stamp.
std::string time_text(const std::string& stamp);
// The beginning, by which people know it.
std::string short_digest(const std::string& digest);

// Cells of a table: null for an empty text.
nlohmann::json badge_cell(std::string_view style, std::string_view text);
nlohmann::json code_cell(const std::string& text);
nlohmann::json case_cell(const std::string& id);  // with its link

// How many are not among the first `most`: null for none.
nlohmann::json beyond(std::size_t all, std::size_t most);
// Null for an empty list, which the template would show else with its title.
nlohmann::json listed(nlohmann::json list);
nlohmann::json said_lines(const std::vector<std::string>& lines, std::size_t most = std::string::npos);

// The first `most` items as `view` gives them.
template <typename Items, typename View>
nlohmann::json first_of(const Items& items, std::size_t most, const View& view) {
  auto list = nlohmann::json::array();
  for (const auto& item : items) {
    if (list.size() == most) break;
    list.push_back(view(item));
  }
  return list;
}

// The first `most` ids for ids.html, and how many follow.
template <typename Items, typename View>
nlohmann::json ids_of(const Items& items, std::size_t most, const View& view) {
  return {{"ids", first_of(items, most, view)}, {"more", beyond(items.size(), most)}};
}

// About how much HTML its texts become.
std::size_t html_bytes(const nlohmann::json& value);

// table.html, whose rows are cards on a narrow screen. A cell is a text, a number, null or the fields of cell.html. Columns
// in which no row has anything are left out, and a title that begins with '#' is one of numbers.
class PageTable {
 public:
  explicit PageTable(std::vector<std::string_view> titles, std::size_t most_bytes = std::string::npos);

  // What comes when it is full is counted.
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
