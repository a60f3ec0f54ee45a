// Reads a TOML table key by key and remembers the first mistake with its file, line, value and near miss.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/base/result.h"

// toml++ as this project uses it. Its implementation is compiled once, into toml.cc: the packaged target insists on the
// shared library, which a static program cannot use.
#define TOML_HEADER_ONLY 0
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// Some of its assertions fire on a mistake in the file (`[.a]` in 3.3), and would end the program. Behind each of those
// is a check that makes it an error, so nothing is lost without them.
#define TOML_ASSERT(expression) static_assert(true)

#include <toml++/toml.h>

namespace proctor {

// Parses a text. Messages call it `name`.
Result<toml::table> parse_toml(std::string_view text, const std::string& name);

// "proctor.toml:12"
std::string position(const std::string& file, const toml::node& node);

// `read proctor.toml:12: MESSAGE`
Error toml_error(const std::string& file, const toml::source_region& where, const std::string& message,
                 const std::string& hint = {});

// The value as it is written in the file, for messages.
std::string value_text(const toml::node& node);

// What a reader asks of a table, as pieces of a JSON schema: whoever makes a schema of a file (plan/config_schema.cc) has it
// from the code that reads it.
struct AskedTable {
  std::map<std::string, std::string> forms;  // of each key: R"({"type": "boolean"})"
  std::vector<std::string> required;
};
using AskedTables = std::map<std::string, AskedTable>;  // by title

class TableReader {
 public:
  // Messages call the table `title`: "[suite.attention]". A key that is not in `keys` is a mistake.
  TableReader(const std::string& file, const toml::table& table, std::string title,
              const std::vector<std::string>& keys, AskedTables* asked = nullptr);

  // Each of these leaves `out` as it is when the key is absent, or when a mistake was found before.
  void read(const char* key, std::string& out);
  void read(const char* key, std::optional<std::string>& out);
  void read(const char* key, bool& out);
  void read(const char* key, std::optional<int>& out, int low, int high);
  template <typename Number>
  void read_number(const char* key, Number& out, Number low, Number high) {
    if (const auto number = whole_number(key, low, high)) out = static_cast<Number>(*number);
  }
  void read(const char* key, std::optional<Milliseconds>& out, bool zero_allowed);
  // Reads a duration, or "off".
  void read(const char* key, std::optional<std::optional<Milliseconds>>& out);
  void read(const char* key, std::optional<Day>& out);
  void read(const char* key, std::optional<std::vector<std::string>>& out);
  void read(const char* key, std::map<std::string, std::string>& out);  // merges into `out`
  // Reads a text that must be one of `allowed`.
  // `hint_for`: what is said of another value, instead of the nearest of those allowed.
  void read_choice(const char* key, std::optional<std::string>& out, const std::vector<std::string>& allowed,
                   std::string (*hint_for)(std::string_view) = nullptr);
  // A string that `parse` turns into a value; `expected` describes the form that it must have.
  template <typename Value, typename Parse>
  void read_parsed(const char* key, std::optional<Value>& out, const Parse& parse, const char* expected) {
    if (const toml::node* node = wanted(key)) read_element(*node, key, out, parse, expected);
  }
  // The same for one element of the array at `key`.
  template <typename Value, typename Parse>
  void read_element(const toml::node& node, const char* key, std::optional<Value>& out, const Parse& parse,
                    const char* expected) {
    if (const auto* text = node.as_string()) out = parse(text->get());
    if (!out) wrong_type(node, key, expected);
  }
  void require(const char* key);
  // Names all that are missing.
  void require(const std::vector<std::string>& keys, const std::string& hint = {});

  // The table below `key`, or null.
  const toml::table* table(const char* key);
  // The elements of an array of tables.
  std::vector<const toml::table*> tables(const char* key);
  const toml::node* node(const char* key) const { return table_.get(key); }
  // The same, but null after a mistake.
  const toml::node* wanted(const char* key) const { return error_ ? nullptr : table_.get(key); }

  // Tells what values the key may have, where that is more than read() can know. The first to tell is believed.
  void declare(const char* key, const std::string& form);

  // Notes a mistake at the value of `key`.
  void fail(const char* key, const std::string& message, const std::string& hint = {});
  void fail(const toml::node& node, const std::string& message, const std::string& hint = {});
  void fail(Error error);

  const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<std::int64_t> whole_number(const char* key, std::int64_t low, std::int64_t high);
  void wrong_type(const char* key, const std::string& expected, const std::string& hint = {});
  void wrong_type(const toml::node& node, const char* key, const std::string& expected,
                  const std::string& hint = {});

  std::string file_;
  const toml::table& table_;
  std::string title_;
  AskedTable* asked_;
  std::optional<Error> error_;
};

}  // namespace proctor
