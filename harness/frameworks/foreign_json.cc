#include "harness/frameworks/foreign_json.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/frameworks/kind.h"

namespace proctor {
namespace {

constexpr std::string_view kAfterKey = "\": ";
constexpr std::string_view kSpecial = "\"\\";  // special characters in a JSON string

// Returns true if the text is valid between the quotes of a JSON string.
bool is_string_body(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') return false;
    if (text[at] != '\\') continue;
    if (++at == text.size() || std::string_view("\"\\/bfnrtu").find(text[at]) == std::string_view::npos)
      return false;
  }
  return true;
}

// Returns the line as valid UTF-8 without control characters. The backslashes that clean_text() adds are escaped.
std::string clean_line(std::string_view line) {
  std::string clean;
  bool quoted = false;
  const std::string visible = clean_text(line);
  for (std::size_t at = 0; at < visible.size(); ++at) {
    const char c = visible[at];
    if (c == '\\' && at + 1 < visible.size()) {
      clean += c;
      if (visible[++at] == 'x') clean += '\\';
      clean += visible[at];
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (c == '\t' && quoted) {
      clean += "\\t";
    } else {
      clean += c;
    }
  }
  return clean;
}

// The parts of a line `  "key": value,`.
struct Member {
  std::string_view indent;
  std::string_view key;
  std::string_view value;
  std::string_view comma;

  bool is_text() const { return value.starts_with('"'); }
  bool may_be_number() const {
    static const std::set<std::string_view> kWords{"true", "false", "null"};
    return !value.empty() && std::string_view("\"[{").find(value.front()) == std::string_view::npos &&
           !kWords.contains(value);
  }
};

// Returns the member of a line. The key ends at the first `": ` that a valid value follows.
std::optional<Member> member_in(std::string_view line) {
  Member member;
  member.indent = line.substr(0, std::min(line.find_first_not_of(' '), line.size()));
  std::string_view rest = line.substr(member.indent.size());
  if (!rest.starts_with('"')) return std::nullopt;
  rest.remove_prefix(1);
  member.comma = rest.ends_with(',') ? "," : "";
  rest.remove_suffix(member.comma.size());
  for (std::size_t end = rest.find(kAfterKey); end != rest.npos; end = rest.find(kAfterKey, end + 1)) {
    member.key = rest.substr(0, end);
    member.value = rest.substr(end + kAfterKey.size());
    const bool is_whole =
        !member.is_text() || (member.value.size() > 1 && member.value.ends_with('"') &&
                              is_string_body(member.value.substr(1, member.value.size() - 2)));
    if (is_whole) return member;
  }
  return std::nullopt;
}

std::string plain_number(std::string_view value, const NumberForm& form) {
  static const std::set<std::string_view> kNotFinite{"NaN",      "-NaN",      "nan", "-nan",
                                                     "Infinity", "-Infinity", "inf", "-inf"};
  if (kNotFinite.contains(value)) return "null";
  if (value.find_first_not_of("-0123456789") == value.npos) return std::string(value);
  if (const auto figure = form.figure(value)) return fmt::format("{}", *figure);
  return "\"" + escaped(value, kSpecial) + "\"";
}

std::string repaired(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : lines_of(text)) lines.push_back(clean_line(line));
  NumberForm form;
  for (const std::string& line : lines) {
    if (const auto member = member_in(line); member && member->may_be_number()) form.see(member->value);
  }
  std::string result;
  for (const std::string& line : lines) {
    const auto member = member_in(line);
    if (!member) {
      result += line + "\n";
      continue;
    }
    const std::string key =
        is_string_body(member->key) ? std::string(member->key) : escaped(member->key, kSpecial);
    const std::string value =
        member->may_be_number() ? plain_number(member->value, form) : std::string(member->value);
    result += fmt::format("{}\"{}\": {}{}\n", member->indent, key, value, member->comma);
  }
  return result;
}

}  // namespace

nlohmann::json parse_foreign_json(std::string_view text) {
  nlohmann::json document = parse_json(text);
  return document.is_discarded() ? parse_json(repaired(text)) : document;
}

}  // namespace proctor
