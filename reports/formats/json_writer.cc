#include "reports/formats/json_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "harness/core/text.h"

namespace proctor {
namespace {

bool stands_for_itself(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

// The bytes of the character that begins there, in text that is UTF-8.
std::size_t bytes_of_character(std::string_view clean, std::size_t at) {
  const auto first = static_cast<unsigned char>(clean[at]);
  return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

std::uint32_t code_of_two_or_three(std::string_view character) {
  const auto bits = [&](std::size_t at) { return static_cast<unsigned char>(character[at]) & 0x3fU; };
  if (character.size() == 2) return (static_cast<unsigned char>(character[0]) & 0x1fU) << 6 | bits(1);
  return (static_cast<unsigned char>(character[0]) & 0x0fU) << 12 | bits(1) << 6 | bits(2);
}

// What a terminal or an editor would obey is escaped: a reader gets it back, and whoever looks at the file sees it.
void append_character(std::string& out, std::string_view character) {
  if (character.size() < 4 && without_hidden_controls(character) != character) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code_of_two_or_three(character));
  } else {
    out += character;
  }
}

void append_escaped(std::string& out, std::string_view clean) {
  for (std::size_t at = 0; at < clean.size(); at += bytes_of_character(clean, at)) {
    const char c = clean[at];
    if (static_cast<unsigned char>(c) >= 0x80) {
      append_character(out, clean.substr(at, bytes_of_character(clean, at)));
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += c;
    }
  }
}

}  // namespace

JsonWriter& JsonWriter::open(char bracket) {
  if (!named_) separate();
  named_ = false;
  output_.pending() += bracket;
  open_ += bracket == '{' ? '}' : ']';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::open(std::string_view key, char bracket) {
  name(key);
  named_ = true;
  return open(bracket);
}

JsonWriter& JsonWriter::close() {
  output_.pending() += open_.back();
  open_.pop_back();
  first_ = false;
  output_.passed();
  return *this;
}

void JsonWriter::separate() {
  if (!first_) output_.pending() += ',';
  first_ = false;
}

void JsonWriter::name(std::string_view key) {
  separate();
  write(key);
  output_.pending() += ':';
}

JsonWriter& JsonWriter::member(std::string_view key, const std::vector<std::string>& texts) {
  open_array(key);
  for (const std::string& text : texts) item(text);
  return close();
}

void JsonWriter::write(std::string_view text) {
  std::string& out = output_.pending();
  out += '"';
  if (std::ranges::all_of(text, stands_for_itself)) {  // nearly every text
    out += text;
  } else {
    append_escaped(out, clean_text(text));
  }
  out += '"';
}

void JsonWriter::write(double value) {
  if (!std::isfinite(value)) return write(nullptr);
  fmt::format_to(std::back_inserter(output_.pending()), "{}", value);
}

void JsonWriter::write(std::int64_t value) {
  fmt::format_to(std::back_inserter(output_.pending()), "{}", value);
}

void JsonWriter::write(std::uint64_t value) {
  fmt::format_to(std::back_inserter(output_.pending()), "{}", value);
}

}  // namespace proctor
