#include "reports/page/page_template.h"

#include <algorithm>
#include <array>
#include <kainjow/mustache.hpp>
#include <utility>
#include <vector>

#include "harness/base/number_text.h"
#include "reports/page/page_cases.h"
#include "reports/page/page_text.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

using kainjow::mustache::data;
using nlohmann::json;

// Fields with an own length limit, by name. All other texts are one line of kTextBytes.
constexpr std::size_t kTextBytes = 400;
constexpr std::array<std::pair<std::string_view, std::size_t>, 6> kLongTexts = {
    {{"command", 4000},
     {"lines", 2000},
     {"href", std::string::npos},
     {"at_href", std::string::npos},
     {"commit_href", std::string::npos},
     {"commits_href", std::string::npos}}};
constexpr std::string_view kOfSeveralLines = "whole";
constexpr std::size_t kWholeBytes = 1500;
constexpr std::size_t kTagBytes = 32;  // the markup around a text

std::size_t limit_of(std::string_view name) {
  const auto* found = std::ranges::find(kLongTexts, name, &std::pair<std::string_view, std::size_t>::first);
  return found == kLongTexts.end() ? kTextBytes : found->second;
}

data text_data(const std::string& text) { return text.empty() ? data(false) : data(text); }

data data_of(const json& value, const std::string& name) {
  switch (value.type()) {
    case json::value_t::null:
      return false;
    case json::value_t::boolean:
      return value.get<bool>();
    case json::value_t::string:
      if (name == kOfSeveralLines)
        return text_data(truncate(page_text(value.get_ref<const std::string&>()), kWholeBytes));
      return text_data(page_line(value.get_ref<const std::string&>(), limit_of(name)));
    case json::value_t::object: {
      data object;
      for (const auto& [key, item] : value.items()) object[key] = data_of(item, key);
      return object;
    }
    case json::value_t::array: {
      std::vector<data> list;
      list.reserve(value.size());
      for (const json& item : value) {
        if (!item.is_null()) list.push_back(data_of(item, name));
      }
      if (!list.empty() && list.front().is_object()) list.front()["first"] = data(true);
      return list;
    }
    default:
      return thousands(value.get<std::size_t>());
  }
}

class Context : public kainjow::mustache::basic_context<std::string> {
 public:
  explicit Context(const PageFill& fill) : fill_(fill) {}

  void push(const data* item) override { items_.push_back(item); }
  void pop() override { items_.pop_back(); }
  const data* get(const std::string& name) const override {
    const auto object =
        std::find_if(items_.rbegin(), items_.rend(), [](const data* item) { return item->is_object(); });
    if (object != items_.rend()) {
      if (const data* found = (*object)->get(name)) return found;
    }
    if (const std::string* raw = fill_.raw(name)) return &(raw_ = data(*raw));
    return items_.empty() ? &(section_ = data_of(fill_.sections(name), name)) : nullptr;
  }
  const data* get_partial(const std::string&) const override { return nullptr; }

 private:
  const PageFill& fill_;
  std::vector<const data*> items_;
  mutable data section_;
  mutable data raw_;
};

struct Piecewise {
  TextOutput& output;
  std::size_t& written;
};

Piecewise& operator<<(Piecewise& stream, const std::string& piece) {
  stream.written += piece.size();
  stream.output.pending() += piece;
  stream.output.passed();
  return stream;
}

}  // namespace

void fill_page(const PageFill& fill, TextOutput& output, std::size_t& written) {
  kainjow::mustache::mustache page{std::string(page_template())};
  page.set_custom_escape([](const std::string& text) { return html_escaped(text); });
  Context context(fill);
  Piecewise stream{output, written};
  page.render(context, stream);
}

std::string state_value(std::string_view text) { return in_address(page_text(text)); }

json linked(std::size_t number, const std::string& state) {
  return {{"text", number}, {"href", "#" + state}};
}

json case_link(const std::string& id) { return {{"id", id}, {"href", "#case=" + state_value(id)}}; }

json plain_id(const std::string& id) { return json::object({{"id", id}}); }

json badge(std::string_view style, std::string_view text) {
  return {{"look", style}, {"sign", sign_of(style)}, {"text", text}};
}

json badge_of(RunVerdict verdict) { return badge(style_of(verdict), describe(verdict)); }

json badge_of(std::string_view style, const Verdict& verdict) {
  json shown = badge(style, readable(verdict));
  if (!verdict.reason.empty()) shown["code"] = to_string(verdict);
  return shown;
}

json badge_cell(std::string_view style, std::string_view text) {
  return json::object({{"badge", badge(style, text)}});
}

json code_cell(const std::string& text) { return text.empty() ? json() : json::object({{"code", text}}); }

json case_cell(const std::string& id) {
  return json::object({{"which", {{"ids", json::array({case_link(id)})}}}});
}

std::string time_text(const std::string& stamp) {
  if (!is_utc_stamp(stamp)) return stamp;
  return stamp.substr(0, 10) + " " + stamp.substr(11, 8) + " UTC";
}

std::string short_digest(const std::string& digest) { return digest.substr(0, 12); }

json beyond(std::size_t all, std::size_t most) { return all > most ? json(all - most) : json(); }

json listed(json list) { return list.empty() ? json() : json::object({{"list", std::move(list)}}); }

json said_lines(const std::vector<std::string>& lines, std::size_t most) {
  return first_of(lines, most, [](const std::string& line) { return json::object({{"said", line}}); });
}

std::size_t html_bytes(const json& value) {
  if (value.is_string()) return html_escaped(value.get_ref<const std::string&>()).size() + kTagBytes;
  std::size_t bytes = 0;
  if (value.is_structured()) {
    for (const json& item : value) bytes += html_bytes(item);
  }
  return bytes;
}

PageTable::PageTable(std::vector<std::string_view> titles, std::size_t most_bytes)
    : titles_(std::move(titles)), most_bytes_(most_bytes) {}

void PageTable::add(std::vector<json> cells) {
  if (bytes_ > most_bytes_) {
    ++left_out_;
    return;
  }
  for (json& cell : cells) {
    if (cell.is_string()) cell = page_line(cell.get_ref<const std::string&>());
    if (cell == "") cell = nullptr;
    if (most_bytes_ != std::string::npos) bytes_ += html_bytes(cell);
  }
  rows_.push_back(std::move(cells));
}

json PageTable::view() const {
  if (rows_.empty()) return nullptr;
  json columns = json::array();
  json rows(rows_.size(), {{"cells", json::array()}});
  for (std::size_t column = 0; column < titles_.size(); ++column) {
    const bool has_any = std::ranges::any_of(rows_, [&](const auto& row) { return !row[column].is_null(); });
    if (column > 0 && !has_any) continue;
    const bool numbers = titles_[column].starts_with('#');
    const json title = {{"label", titles_[column].substr(numbers ? 1 : 0)}, {"n", numbers}};
    columns.push_back(title);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const json& given = rows_[row][column];
      json cell = given.is_object() ? given : json::object({{"text", given}});
      cell.update(title);
      cell["none"] = given.is_null();
      rows[row]["cells"].push_back(std::move(cell));
    }
  }
  return {{"columns", columns}, {"rows", rows}, {"left_out", left_out_ == 0 ? json() : json(left_out_)}};
}

}  // namespace proctor
