#include "reports/formats/xml.h"

#include <algorithm>
#include <utility>

#include "harness/base/text.h"

namespace proctor {
namespace {

constexpr std::string_view kNewline = "&#10;";  // for attributes

// Returns the reference for a character; "" if it needs none. Readers normalise CR everywhere, and LF and TAB in
// attributes (XML 1.0 sections 2.11 and 3.3.3). Character references are preserved.
std::string_view reference_of(char c, bool in_attribute) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\r':
      return "&#13;";
    case '\t':
      return in_attribute ? "&#9;" : "";
    default:
      return "";
  }
}

void append_line(std::string& out, std::string_view value, bool in_attribute) {
  if (stands_for_itself<'&', '<', '>', '"'>(value)) {
    out += value;
    return;
  }
  std::string clean = clean_text(value);
  if (std::ranges::any_of(clean, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    clean = without_hidden_controls(clean);
  const std::string_view text = clean;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view reference = reference_of(text[at], in_attribute);
    if (reference.empty()) continue;
    out += text.substr(done, at - done);
    out += reference;
    done = at + 1;
  }
  out += text.substr(done);
}

// Processes the text line by line, because few lines need cleaning, and no cleaned sequence crosses a line end.
void append_escaped(std::string& out, std::string_view value, bool in_attribute) {
  for (auto end = value.find('\n'); end != value.npos; end = value.find('\n')) {
    append_line(out, value.substr(0, end), in_attribute);
    out += in_attribute ? kNewline : "\n";
    value.remove_prefix(end + 1);
  }
  append_line(out, value, in_attribute);
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
