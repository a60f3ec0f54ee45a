#include "reports/page/page_template.h"

#include <algorithm>
#include <array>
#include <kainjow/mustache.hpp>
#include <utility>
#include <vector>

#include "reports/page/page_files.h"
#include "reports/page/page_text.h"
#include "reports/page/page_words.h"
#include "reports/resolve/truncate.h"

namespace proctor {
namespace {

using kainjow::mustache::data;
using nlohmann::json;

// What may be longer than a line, by its name.
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

data words_data() {
  data words;
  for (const PageWord& word : all_words()) words[std::string(word.name)] = data(std::string(word.one));
  return words;
}

class Context : public kainjow::mustache::basic_context<std::string> {
 public:
  explicit Context(const PageFill& fill) : fill_(fill), words_("words", words_data()) {}

  void push(const data* item) override { items_.push_back(item); }
  void pop() override { items_.pop_back(); }
  const data* get(const std::string& name) const override {
    if (name.starts_with("words.")) return words_.get("words")->get(name.substr(6));
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
  data words_;
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

// A file that stands within others is one line: its line ends and indents are for who reads it.
std::string as_part(std::string_view file) {
  std::string part;
  for (std::size_t at = 0; at < file.size(); ++at) {
    part += file[at];
    if (file[at] != '\n') continue;
    part.pop_back();
    while (at + 1 < file.size() && file[at + 1] == ' ') ++at;
  }
  return part;
}

}  // namespace

std::string page_template() {
  std::string text(page_html());
  // Each names only files after it.
  const std::array<std::pair<std::string_view, std::string>, 4> parts = {
      {{"{{>table}}", as_part(table_html())},
       {"{{>cell}}", as_part(cell_html())},
       {"{{>ids}}", as_part(ids_html())},
       {"{{>badge}}", as_part(badge_html())}}};
  for (const auto& [tag, part] : parts) {
    for (std::size_t at = 0; (at = text.find(tag, at)) != std::string::npos;)
      text.replace(at, tag.size(), part);
  }
  return text;
}

void fill_page(const PageFill& fill, TextOutput& output, std::size_t& written) {
  kainjow::mustache::mustache page(page_template());
  page.set_custom_escape([](const std::string& text) { return html_escaped(text); });
  Context context(fill);
  Piecewise stream{output, written};
  page.render(context, stream);
}

}  // namespace proctor
