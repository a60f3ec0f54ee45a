#include "reports/formats/xml.h"

#include <algorithm>
#include <utility>

#include "harness/core/text.h"

namespace proctor {
namespace {

// A reader normalises CR everywhere, and LF and TAB in attributes (XML 1.0 sections 2.11 and 3.3.3); as
// character references they survive.
void append_escaped(std::string& out, std::string_view value, bool in_attribute) {
  std::string clean = clean_text(value);
  if (std::ranges::any_of(clean, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    clean = without_hidden_controls(clean);
  for (const char c : clean) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\r') {
      out += "&#13;";
    } else if (in_attribute && c == '\n') {
      out += "&#10;";
    } else if (in_attribute && c == '\t') {
      out += "&#9;";
    } else {
      out += c;
    }
  }
}

}  // namespace

XmlWriter::XmlWriter(TextOutput& output) : output_(output) {
  output_.pending() += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
}

void XmlWriter::end_start_tag() {
  if (in_start_tag_) output_.pending() += '>';
  in_start_tag_ = false;
}

void XmlWriter::indent() {
  output_.pending() += '\n';
  output_.pending().append(2 * (depth_ + levels_.size()), ' ');
}

XmlWriter& XmlWriter::open(std::string_view element) {
  end_start_tag();
  if (levels_.empty() || !levels_.back().has_text) indent();
  if (!levels_.empty()) levels_.back().has_elements = true;
  output_.pending() += '<';
  output_.pending() += element;
  levels_.push_back({std::string(element)});
  in_start_tag_ = true;
  return *this;
}

XmlWriter& XmlWriter::attribute(std::string_view name, std::string_view value) {
  output_.pending() += ' ';
  output_.pending() += name;
  output_.pending() += "=\"";
  append_escaped(output_.pending(), value, true);
  output_.pending() += '"';
  return *this;
}

XmlWriter& XmlWriter::text(std::string_view value) {
  end_start_tag();
  levels_.back().has_text = true;
  append_escaped(output_.pending(), value, false);
  return *this;
}

XmlWriter& XmlWriter::insert(std::string_view elements) {
  end_start_tag();
  levels_.back().has_elements = levels_.back().has_elements || !elements.empty();
  output_.pending() += elements;
  output_.passed();
  return *this;
}

XmlWriter& XmlWriter::close() {
  const Level level = std::move(levels_.back());
  levels_.pop_back();
  if (in_start_tag_) {
    output_.pending() += "/>";
    in_start_tag_ = false;
    return *this;
  }
  if (level.has_elements && !level.has_text) indent();
  output_.pending() += "</" + level.name + '>';
  output_.passed();
  return *this;
}

void XmlWriter::finish() {
  while (!levels_.empty()) close();
  output_.pending() += '\n';
}

}  // namespace proctor
