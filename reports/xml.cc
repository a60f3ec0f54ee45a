#include "reports/xml.h"

#include <utility>

#include "harness/core/text.h"

namespace proctor {
namespace {

// A reader normalises CR everywhere, and LF and TAB in attributes (XML 1.0 sections 2.11 and 3.3.3); as
// character references they survive.
void append_escaped(std::string& out, std::string_view value, bool in_attribute) {
  for (const char c : clean_text(value)) {
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

XmlWriter::XmlWriter() : out_("<?xml version=\"1.0\" encoding=\"UTF-8\"?>") {}

void XmlWriter::end_start_tag() {
  if (in_start_tag_) out_ += '>';
  in_start_tag_ = false;
}

void XmlWriter::indent() {
  out_ += '\n';
  out_.append(2 * levels_.size(), ' ');
}

XmlWriter& XmlWriter::open(std::string_view element) {
  end_start_tag();
  if (levels_.empty() || !levels_.back().has_text) indent();
  if (!levels_.empty()) levels_.back().has_elements = true;
  out_ += '<';
  out_ += element;
  levels_.push_back({std::string(element)});
  in_start_tag_ = true;
  return *this;
}

XmlWriter& XmlWriter::attribute(std::string_view name, std::string_view value) {
  out_ += ' ';
  out_ += name;
  out_ += "=\"";
  append_escaped(out_, value, true);
  out_ += '"';
  return *this;
}

XmlWriter& XmlWriter::text(std::string_view value) {
  end_start_tag();
  levels_.back().has_text = true;
  append_escaped(out_, value, false);
  return *this;
}

XmlWriter& XmlWriter::close() {
  const Level level = std::move(levels_.back());
  levels_.pop_back();
  if (in_start_tag_) {
    out_ += "/>";
    in_start_tag_ = false;
    return *this;
  }
  if (level.has_elements && !level.has_text) indent();
  out_ += "</" + level.name + '>';
  return *this;
}

std::string XmlWriter::finish() {
  while (!levels_.empty()) close();
  out_ += '\n';
  return std::move(out_);
}

}  // namespace proctor
