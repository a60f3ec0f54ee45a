// A streaming writer of compact JSON, for all JSON reports. It stores only the open brackets, because a tree of all
// cases of a large run (nlohmann/json) needs ten times the memory of their text. Every string goes through clean_text()
// and is escaped. A number that is not finite becomes null. No input makes the output ill-formed. Example:
//
//   std::string text;
//   TextOutput output([&](std::string_view piece) { text += piece; });
//   JsonWriter json(output);
//   json.open_object().member("id", "a").open_array("marks");
//   for (const char* mark : {"flaky", "leaky"}) json.item(mark);
//   json.close().close();
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/formats/text_output.h"

namespace proctor {

class JsonWriter {
 public:
  explicit JsonWriter(TextOutput& output) : output_(output) {}

  // In an object, use the functions with a key. In an array and at the top, use those without.
  JsonWriter& open_object() { return open('{'); }
  JsonWriter& open_array() { return open('['); }
  JsonWriter& open_object(std::string_view key) { return open(key, '{'); }
  JsonWriter& open_array(std::string_view key) { return open(key, '['); }
  JsonWriter& close();

  template <typename T>
  JsonWriter& member(std::string_view key, const T& value) {
    name(key);
    write(value);
    return *this;
  }
  template <typename T>
  JsonWriter& item(const T& value) {
    separate();
    write(value);
    return *this;
  }
  // Writes nothing if the text is empty.
  JsonWriter& member_if_any(std::string_view key, std::string_view text) {
    return text.empty() ? *this : member(key, text);
  }
  JsonWriter& member(std::string_view key, const std::vector<std::string>& texts);
  JsonWriter& member_or_null(std::string_view key, std::string_view text) {
    return text.empty() ? member(key, nullptr) : member(key, text);
  }
  // Writes an array of objects. `write_members(json, item)` writes the members of each.
  template <typename Items, typename Write>
  JsonWriter& objects(std::string_view key, Items&& items, const Write& write_members) {
    open_array(key);
    for (const auto& item : items) {
      open_object();
      write_members(*this, item);
      close();
    }
    return close();
  }
  // Writes nothing if there are no items.
  template <typename Items, typename Write>
  JsonWriter& objects_if_any(std::string_view key, const Items& items, const Write& write_members) {
    return std::empty(items) ? *this : objects(key, items, write_members);
  }
  // Opens an object, or writes null. Returns whether an object is open.
  bool open_object_or_null(std::string_view key, bool is_there) {
    is_there ? open_object(key) : member(key, nullptr);
    return is_there;
  }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& open(std::string_view key, char bracket);
  void name(std::string_view key);
  void separate();
  void write(std::string_view text);
  void write(const std::string& text) { write(std::string_view(text)); }
  void write(const char* text) { write(std::string_view(text)); }
  void write(std::nullptr_t) { output_.pending() += "null"; }
  void write(bool value) { output_.pending() += value ? "true" : "false"; }
  void write(double value);
  void write(std::int64_t value);
  void write(std::uint64_t value);
  template <std::integral T>
  void write(T value) {
    if constexpr (std::signed_integral<T>) {
      write(static_cast<std::int64_t>(value));
    } else {
      write(static_cast<std::uint64_t>(value));
    }
  }
  template <typename T>
  void write(const std::optional<T>& value) {
    if (value) return write(*value);
    write(nullptr);
  }

  TextOutput& output_;
  std::string open_;    // the closing brackets of all open objects and arrays
  bool first_ = true;   // the next value is the first in its object or array
  bool named_ = false;  // the key of the next value is written
};

}  // namespace proctor
