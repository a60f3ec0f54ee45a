#include "reports/formats/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "harness/base/text.h"

namespace proctor {
namespace {

// Returns the number of bytes of the character at `at`, in valid UTF-8.
std::size_t bytes_of_character(std::string_view clean, std::size_t at) {
  const auto first = static_cast<unsigned char>(clean[at]);
  return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

std::uint32_t code_of_two_or_three(std::string_view character) {
  const auto bits = [&](std::size_t at) { return static_cast<unsigned char>(character[at]) & 0x3fU; };
  if (character.size() == 2) return (static_cast<unsigned char>(character[0]) & 0x1fU) << 6 | bits(1);
  return (static_cast<unsigned char>(character[0]) & 0x0fU) << 12 | bits(1) << 6 | bits(2);
}

// Escapes control characters that a terminal or an editor would interpret. A reader decodes them, and they are visible
// in the file.
void append_character(std::string& out, std::string_view character) {
  if (character.size() < 4 && without_hidden_controls(character) != character) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code_of_two_or_three(character));
  } else {
    out += character;
  }
}

// Returns the escape of a one-byte character; "" if it needs none.
std::string_view escape_of(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return "";
  }
}

void append_escaped(std::string& out, std::string_view clean) {
  std::size_t done = 0;
  for (std::size_t at = 0; at < clean.size();) {
    const std::size_t bytes = bytes_of_character(clean, at);
    const std::string_view escape = bytes == 1 ? escape_of(clean[at]) : "";
    if (bytes > 1 || !escape.empty()) {
      out += clean.substr(done, at - done);
      out += escape;
      if (bytes > 1) append_character(out, clean.substr(at, bytes));
      done = at + bytes;
    }
    at += bytes;
  }
  out += clean.substr(done);
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
  if (stands_for_itself<'"', '\\'>(text)) {
    out += text;
  } else {
    append_escaped(out, clean_text(text));
  }
  out += '"';
}

void JsonWriter::write(double value) {
  if (!std::isfinite(value)) return write(nullptr);
  // Integers give the same text faster.
  if (std::abs(value) < 1e15 && value == std::trunc(value) && !std::signbit(value))
    return write(static_cast<std::int64_t>(value));
  fmt::format_to(std::back_inserter(output_.pending()), "{}", value);
}

void JsonWriter::write(std::int64_t value) {
  const fmt::format_int text(value);
  output_.pending().append(text.data(), text.size());
}

void JsonWriter::write(std::uint64_t value) {
  const fmt::format_int text(value);
  output_.pending().append(text.data(), text.size());
}

}  // namespace proctor
