// Parses TOML and reads a table key by key. TableReader checks types and ranges, and records the first
// mistake with its file, line, value and near miss.
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

// The configuration of toml++. Its implementation is compiled once, in toml.cc. The packaged CMake target
// requires the shared library, which a static program cannot use.
#define TOML_HEADER_ONLY 0
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// Some assertions of toml++ fail on a mistake in the file (`[.a]` in 3.3) and would abort the program. Each
// of them is followed by a check that returns an error, so no check is lost.
#define TOML_ASSERT(expression) static_assert(true)

#include <toml++/toml.h>

namespace proctor {

// Parses a text. `name` is the file name in messages.
Result<toml::table> parse_toml(std::string_view text, const std::string& name);

// Returns the place of a node: "proctor.toml:12".
std::string position(const std::string& file, const toml::node& node);

// Returns the error `read proctor.toml:12: MESSAGE`.
Error toml_error(const std::string& file, const toml::source_region& where, const std::string& message,
                 const std::string& hint = {});

// Returns the value as it is written in the file, for messages.
std::string value_text(const toml::node& node);

// The keys that a reader reads from a table, as pieces of a JSON schema. plan/config_schema.cc generates the
// schema of proctor.toml from them. In this way the schema comes from the code that reads the file.
struct AskedTable {
  std::map<std::string, std::string> forms;  // key -> schema of its value: R"({"type": "boolean"})"
  std::vector<std::string> required;
};
using AskedTables = std::map<std::string, AskedTable>;  // key: title of the table

// Reads the keys of one table. After the first mistake, which it records, it reads nothing more.
class TableReader {
 public:
  // `title` is the name of the table in messages: "[suite.attention]". A key that is not in `keys` is a
  // mistake.
  TableReader(const std::string& file, const toml::table& table, std::string title,
              const std::vector<std::string>& keys, AskedTables* asked = nullptr);

  // Each read() leaves `out` unchanged if the key is absent, or if a mistake was found before.
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
  // Reads a text that must be one of `allowed`. `hint_for` returns the hint for another value; by default the
  // hint is the nearest allowed value.
  void read_choice(const char* key, std::optional<std::string>& out, const std::vector<std::string>& allowed,
                   std::string (*hint_for)(std::string_view) = nullptr);
  // Reads a string that `parse` converts to a value. `expected` describes the valid form.
  template <typename Value, typename Parse>
  void read_parsed(const char* key, std::optional<Value>& out, const Parse& parse, const char* expected) {
    if (const toml::node* node = wanted(key)) read_element(*node, key, out, parse, expected);
  }
  // Reads one element of the array at `key` in the same way.
  template <typename Value, typename Parse>
  void read_element(const toml::node& node, const char* key, std::optional<Value>& out, const Parse& parse,
                    const char* expected) {
    if (const auto* text = node.as_string()) out = parse(text->get());
    if (!out) wrong_type(node, key, expected);
  }
  void require(const char* key);
  // Reports all missing keys in one error.
  void require(const std::vector<std::string>& keys, const std::string& hint = {});

  // Returns the table at `key`, or null.
  const toml::table* table(const char* key);
  // Returns the elements of an array of tables.
  std::vector<const toml::table*> tables(const char* key);
  const toml::node* node(const char* key) const { return table_.get(key); }
  // Returns the node at `key`, or null after a mistake.
  const toml::node* wanted(const char* key) const { return error_ ? nullptr : table_.get(key); }

  // Records the schema of a key's value, if read() cannot derive it. The first schema of a key is kept.
  void declare(const char* key, const std::string& form);

  // Records a mistake at the value of `key`.
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
