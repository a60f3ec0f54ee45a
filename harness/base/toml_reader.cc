#include "harness/base/toml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/base/document_limits.h"
#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {

namespace {

std::string type_text(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::floating_point:
      return "a fraction";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return "a date or time";
    default:
      return "this value";
  }
}

// The nesting limit for dotted keys. toml++ recurses once for each dot when it walks and destroys tables.
// Version 3.3 exhausts its stack on a key with a million dots. It limits nested arrays and inline tables to
// 256 levels, but does not count the dots of the keys between them.
constexpr std::size_t kMostDots = 32;
constexpr std::size_t kMostTomlBytes = std::size_t{16} << 20;  // a person writes the file

// Counts the nesting of a document. It skips strings and comments, in which dots and brackets have no
// meaning.
class Nesting {
 public:
  explicit Nesting(std::string_view text) : text_(text) {}

  // Returns the first line that is nested too deeply: "3: a key has more than 32 dots". Returns "" if there
  // is none.
  std::string first_too_deep() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '.' && ++dots_ > kMostDots)
        return fmt::format("{}: a key has more than {} dots", line_, kMostDots);
      if (c == '[' || c == '{') open();
      if (c == ']' || c == '}') close();
      if (levels_ > kMostNesting)
        return fmt::format("{}: it has values within values, more than {} deep", line_, kMostNesting);
      if (c == '=') key_dots_ = std::exchange(dots_, 0);
      if (c == ',' || c == '\n') key_dots_ = dots_ = 0;
      if (c == '\n') ++line_;
      ++at_;
    }
    return "";
  }

 private:
  void open() {
    opened_.push_back(1 + key_dots_);
    levels_ += opened_.back();
    key_dots_ = dots_ = 0;
  }
  void close() {
    key_dots_ = dots_ = 0;
    if (opened_.empty()) return;
    levels_ -= opened_.back();
    opened_.pop_back();
  }

  void skip_string(char quote) {
    const bool multi_line = text_.substr(at_, 3) == std::string(3, quote);
    const std::string_view end = text_.substr(at_, multi_line ? 3 : 1);
    for (at_ += end.size(); at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') {
        if (!multi_line) return;  // the string is not closed; the parser reports it
        ++line_;
      }
      if (text_[at_] == '\\' && quote == '"') {
        ++at_;
        if (at_ < text_.size() && text_[at_] == '\n') ++line_;
      } else if (text_.substr(at_, end.size()) == end) {
        at_ += end.size();
        // The closing quotes can be preceded by up to two quotes of the content.
        for (int more = 0; multi_line && more < 2 && text_.substr(at_, 1) == end.substr(0, 1); ++more) ++at_;
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned line_ = 1;
  std::size_t dots_ = 0;             // dots of the current key or number
  std::size_t key_dots_ = 0;         // dots of the key whose value is being read
  std::vector<std::size_t> opened_;  // levels of each open bracket: one for itself, and those of its key
  std::size_t levels_ = 0;           // sum of opened_
};

// Code that executes or opens such a text would use only the part before the NUL byte.
bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }
// The forms that base/duration.h parses: durations above zero, and durations from zero.
constexpr const char* kDuration =
    R"({"type": "string", "pattern": "^([0-9]*[1-9][0-9]*([.][0-9]+)?|[0-9]+[.][0-9]*[1-9][0-9]*)(ms|s|m|h)$"})";
constexpr const char* kAnyDuration = R"({"type": "string", "pattern": "^[0-9]+([.][0-9]+)?(ms|s|m|h)$"})";
constexpr const char* kNulByte = "`{}` in {} contains a NUL byte";

}  // namespace

Result<toml::table> parse_toml(std::string_view text, const std::string& name) {
  if (text.size() > kMostTomlBytes)
    return Error::refused(fmt::format("{} has {} bytes, more than {}", name, text.size(), kMostTomlBytes));
  if (const std::string deep = Nesting(text).first_too_deep(); !deep.empty())
    return Error::refused(fmt::format("{}:{}", name, deep));
  toml::parse_result parsed = toml::parse(text, std::string_view(name));
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return toml_error(name, error.source(), std::string(error.description()));
  }
  return std::move(parsed).table();
}

std::string position(const std::string& file, const toml::node& node) {
  return fmt::format("{}:{}", file, static_cast<unsigned>(node.source().begin.line));
}

Error toml_error(const std::string& file, const toml::source_region& where, const std::string& message,
                 const std::string& hint) {
  return Error::refused(fmt::format("{}:{}: {}", file, static_cast<unsigned>(where.begin.line), message),
                        hint);
}

std::string value_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return fmt::format("\"{}\"", text->get());
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return type_text(node);
}

TableReader::TableReader(const std::string& file, const toml::table& table, std::string title,
                         const std::vector<std::string>& keys, AskedTables* asked)
    : file_(file),
      table_(table),
      title_(std::move(title)),
      asked_(asked == nullptr ? nullptr : &(*asked)[title_]) {
  // toml++ iterates by name. The message must report the first mistake in the file.
  const toml::key* first = nullptr;
  for (const auto& [key, value] : table) {
    if (std::find(keys.begin(), keys.end(), key.str()) != keys.end()) continue;
    if (first == nullptr || key.source().begin < first->source().begin) first = &key;
  }
  if (first == nullptr) return;
  error_ = toml_error(file_, first->source(), fmt::format("unknown key `{}` in {}", first->str(), title_),
                      suggestion(first->str(), keys, "keys"));
}

void TableReader::declare(const char* key, const std::string& form) {
  if (asked_ != nullptr) asked_->forms.emplace(key, form);
}

void TableReader::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

void TableReader::fail(const char* key, const std::string& message, const std::string& hint) {
  const toml::node* node = table_.get(key);
  fail(toml_error(file_, node != nullptr ? node->source() : table_.source(), message, hint));
}

void TableReader::fail(const toml::node& node, const std::string& message, const std::string& hint) {
  fail(toml_error(file_, node.source(), message, hint));
}

void TableReader::wrong_type(const char* key, const std::string& expected, const std::string& hint) {
  wrong_type(*table_.get(key), key, expected, hint);
}

void TableReader::wrong_type(const toml::node& node, const char* key, const std::string& expected,
                             const std::string& hint) {
  fail(node, fmt::format("`{}` in {} is {}, but must be {}", key, title_, value_text(node), expected), hint);
}

void TableReader::require(const char* key) { require(std::vector<std::string>{key}); }

void TableReader::require(const std::vector<std::string>& keys, const std::string& hint) {
  std::vector<std::string> missing;
  for (const std::string& key : keys) {
    if (asked_ != nullptr) asked_->required.push_back(key);
    if (table_.get(key) == nullptr) missing.push_back('`' + key + '`');
  }
  if (missing.empty()) return;
  fail(toml_error(
      file_, table_.source(),
      fmt::format("{} needs the key{} {}", title_, missing.size() == 1 ? "" : "s", joined(missing, ", ")),
      hint));
}

void TableReader::read(const char* key, std::string& out) {
  std::optional<std::string> text;
  read(key, text);
  if (text) out = std::move(*text);
}

void TableReader::read(const char* key, std::optional<std::string>& out) {
  declare(key, R"({"type": "string"})");
  const toml::node* node = wanted(key);
  if (node == nullptr) return;
  const auto* text = node->as_string();
  if (text == nullptr) return wrong_type(key, "a string in quotes");
  if (has_nul(text->get())) return fail(*node, fmt::format(kNulByte, key, title_));
  out = text->get();
}

void TableReader::read(const char* key, bool& out) {
  declare(key, R"({"type": "boolean"})");
  const toml::node* node = wanted(key);
  if (node == nullptr) return;
  if (const auto* flag = node->as_boolean()) {
    out = flag->get();
  } else {
    wrong_type(key, "true or false");
  }
}

std::optional<std::int64_t> TableReader::whole_number(const char* key, std::int64_t low, std::int64_t high) {
  declare(key, fmt::format(R"({{"type": "integer", "minimum": {}, "maximum": {}}})", low, high));
  const toml::node* node = wanted(key);
  if (node == nullptr) return std::nullopt;
  const auto* number = node->as_integer();
  if (number != nullptr && number->get() >= low && number->get() <= high) return number->get();
  wrong_type(key, fmt::format("a whole number from {} to {}", low, high));
  return std::nullopt;
}

void TableReader::read(const char* key, std::optional<int>& out, int low, int high) {
  if (const auto number = whole_number(key, low, high)) out = static_cast<int>(*number);
}

void TableReader::read(const char* key, std::optional<Milliseconds>& out, bool zero_allowed) {
  declare(key, zero_allowed ? kAnyDuration : kDuration);
  const toml::node* node = wanted(key);
  if (node == nullptr) return;
  if (const auto* number = node->as_integer()) {
    return wrong_type(key, "a duration with a unit",
                      fmt::format("Write \"{}s\" for seconds.", number->get()));
  }
  const auto* text = node->as_string();
  if (text == nullptr) return wrong_type(key, "a duration such as \"30s\"");
  const Result<Milliseconds> duration = parse_duration(text->get());
  if (!duration) {
    return fail(key, fmt::format("`{}` in {}: {}", key, title_, duration.error().what),
                duration.error().hint);
  }
  if (*duration == Milliseconds(0) && !zero_allowed) return wrong_type(key, "a duration above zero");
  out = *duration;
}

void TableReader::read(const char* key, std::optional<std::optional<Milliseconds>>& out) {
  declare(key, fmt::format(R"({{"anyOf": [{{"enum": ["off"]}}, {}]}})", kDuration));
  const toml::node* node = wanted(key);
  if (node == nullptr) return;
  if (const auto* text = node->as_string(); text != nullptr && text->get() == "off") {
    out = std::optional<Milliseconds>();
    return;
  }
  if (const auto* flag = node->as_boolean(); flag != nullptr) {
    return wrong_type(key, "a duration, or \"off\"", flag->get() ? "" : "Write \"off\".");
  }
  std::optional<Milliseconds> duration;
  read(key, duration, false);
  if (duration) out = duration;
}

void TableReader::read(const char* key, std::optional<Day>& out) {
  declare(key, R"({"type": "string", "format": "date"})");
  const toml::node* node = wanted(key);
  if (node == nullptr) return;
  const auto* date = node->as_date();
  if (date == nullptr)
    return wrong_type(key, "a date", fmt::format("Write {} = 2027-06-30, without quotes.", key));
  const toml::date& day = date->get();
  out = Day(std::chrono::year(day.year), std::chrono::month(day.month), std::chrono::day(day.day));
}

void TableReader::read(const char* key, std::optional<std::vector<std::string>>& out) {
  declare(key, R"({"type": "array", "items": {"type": "string"}})");
  const toml::node* node = wanted(key);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    const std::string hint =
        node->is_string() ? fmt::format("Write {} = [\"first\", \"second\"].", key) : std::string();
    return wrong_type(key, "an array of strings", hint);
  }
  std::vector<std::string> words;
  for (const toml::node& element : *array) {
    const auto* text = element.as_string();
    if (text == nullptr) {
      return fail(element, fmt::format("`{}` in {} contains {}, but takes only strings in quotes", key,
                                       title_, value_text(element)));
    }
    if (has_nul(text->get())) return fail(element, fmt::format(kNulByte, key, title_));
    words.push_back(text->get());
  }
  out = std::move(words);
}

void TableReader::read(const char* key, std::map<std::string, std::string>& out) {
  declare(key, R"({"type": "object", "additionalProperties": {"type": "string"}})");
  const toml::table* values = table(key);
  if (values == nullptr) return;
  for (const auto& [name, value] : *values) {
    const auto* text = value.as_string();
    if (text == nullptr) {
      return fail(value, fmt::format("`{}` of `{}` in {} is {}, but must be a string in quotes", name.str(),
                                     key, title_, value_text(value)));
    }
    out[std::string(name.str())] = text->get();
  }
}

void TableReader::read_choice(const char* key, std::optional<std::string>& out,
                              const std::vector<std::string>& allowed,
                              std::string (*hint_for)(std::string_view)) {
  declare(key, fmt::format(R"({{"enum": ["{}"]}})", fmt::join(allowed, R"(", ")")));
  std::optional<std::string> text;
  read(key, text);
  if (!text) return;
  if (std::find(allowed.begin(), allowed.end(), *text) == allowed.end()) {
    return fail(key,
                fmt::format("`{}` in {} is \"{}\", but must be one of {}", key, title_, *text,
                            fmt::join(allowed, ", ")),
                hint_for != nullptr ? hint_for(*text) : suggestion(*text, allowed, "values"));
  }
  out = std::move(text);
}

const toml::table* TableReader::table(const char* key) {
  const toml::node* node = wanted(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) wrong_type(key, fmt::format("a table, [{}]", key));
  return node->as_table();
}

std::vector<const toml::table*> TableReader::tables(const char* key) {
  std::vector<const toml::table*> found;
  const toml::node* node = wanted(key);
  if (node == nullptr) return found;
  const toml::array* array = node->as_array();
  if (array == nullptr || !array->is_homogeneous<toml::table>()) {
    wrong_type(key, fmt::format("an array of tables, [[{}]]", key));
    return found;
  }
  for (const toml::node& element : *array) found.push_back(element.as_table());
  return found;
}

}  // namespace proctor
