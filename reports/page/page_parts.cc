#include "reports/page/page_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/core/count_text.h"
#include "reports/model/report_place.h"
#include "reports/page/page_cases.h"
#include "reports/page/page_text.h"

namespace proctor {
namespace {

constexpr std::size_t kCommandBytes = 4000;

bool stands_in_state(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("-._~/").find(c) != std::string_view::npos;
}

}  // namespace

std::string thousands(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return thousands(count) + " " + std::string(plural(count, one, many));
}

std::string state_value(std::string_view text) {
  std::string out;
  for (const char c : page_text(text))
    out += stands_in_state(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

std::string state_link(const std::string& state, const std::string& html) {
  return fmt::format("<a href=\"#{}\">{}</a>", state, html);
}

std::string case_link(const std::string& id) {
  return fmt::format("<a class=\"id\" href=\"#case={}\">{}</a>", state_value(id), html_line(id));
}

std::string badge_html(std::string_view look, const std::string& html) {
  return fmt::format("<span class=\"badge {}\"><span class=\"sign\" aria-hidden=\"true\">{}</span> {}</span>",
                     look, sign_of(look), html);
}

std::string badge(std::string_view look, std::string_view text) { return badge_html(look, html_line(text)); }

std::string time_html(const std::string& stamp) {
  if (!is_utc_stamp(stamp)) return html_line(stamp);
  return stamp.substr(0, 10) + " " + stamp.substr(11, 8) + " UTC";
}

std::string command_html(const std::string& command) {
  return "<pre class=\"command\">" + html_line(command, kCommandBytes) + "</pre>";
}

HtmlTable::HtmlTable(std::vector<std::string_view> titles) : titles_(std::move(titles)) {}

void HtmlTable::add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string HtmlTable::html() const {
  if (rows_.empty()) return "";
  std::vector<bool> shown(titles_.size());
  for (std::size_t column = 0; column < titles_.size(); ++column)
    shown[column] =
        column == 0 || std::ranges::any_of(rows_, [column](const auto& row) { return !row[column].empty(); });
  std::string html = "<table><thead><tr>";
  for (std::size_t column = 0; column < titles_.size(); ++column) {
    const bool numbers = titles_[column].starts_with('#');
    if (shown[column])
      html += fmt::format("<th scope=\"col\"{}>{}</th>", numbers ? " class=\"n\"" : "",
                          titles_[column].substr(numbers ? 1 : 0));
  }
  html += "</tr></thead><tbody>\n";
  for (const std::vector<std::string>& row : rows_) {
    html += "<tr>";
    for (std::size_t column = 0; column < titles_.size(); ++column) {
      if (!shown[column]) continue;
      const bool numbers = titles_[column].starts_with('#');
      const std::string classes = fmt::format("{}{}", numbers ? "n" : "", row[column].empty() ? " none" : "");
      html += column == 0 ? fmt::format("<th scope=\"row\">{}</th>", row[column])
                          : fmt::format("<td class=\"{}\" data-label=\"{}\">{}</td>", classes,
                                        titles_[column].substr(numbers ? 1 : 0), row[column]);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n";
}

}  // namespace proctor
