// JSON: nlohmann's header. Its reader and writer are compiled once (json.cc) and not in each source that uses
// them, which would take a third of the time to compile such a source. Include this header instead. Example:
//
//   const auto report = parse_json(R"({"pass": 3})");
//   const int passed = report.is_object() ? report.value("pass", 0) : 0;
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "harness/base/document_limits.h"

// The names below are internal to the library. They are known for this version only.
#if NLOHMANN_JSON_VERSION_MAJOR == 3 && NLOHMANN_JSON_VERSION_MINOR == 11
#define PROCTOR_JSON_TEMPLATES(declare)                                                                  \
  namespace nlohmann::detail {                                                                           \
  declare template class serializer<json>;                                                               \
  declare template class json_sax_dom_parser<json>;                                                      \
  declare template class json_sax_dom_callback_parser<json>;                                             \
  declare template class lexer<json, decltype(input_adapter(std::declval<const std::string&>()))>;       \
  declare template class lexer<json, decltype(input_adapter(std::declval<const std::string_view&>()))>;  \
  declare template class parser<json, decltype(input_adapter(std::declval<const std::string&>()))>;      \
  declare template class parser<json, decltype(input_adapter(std::declval<const std::string_view&>()))>; \
  }                                                                                                      \
  declare template class nlohmann::basic_json<>;                                                         \
  declare template class std::vector<nlohmann::json>;                                                    \
  declare template class std::map<std::string, nlohmann::json, std::less<>>;

PROCTOR_JSON_TEMPLATES(extern)
#endif

namespace proctor {

// Discarded where the text is no JSON, or beyond base/document_limits.h.
nlohmann::json parse_json(std::string_view text);

// The string at `key`, or "" if there is none or the value is no string: another program may have written any type.
std::string text_at(const nlohmann::json& object, const char* key);

// The text as a basic string of a TOML file, with its quotes. It must be clean (base/text.h): then TOML escapes what
// JSON does, and nothing else.
std::string toml_text(const std::string& text);

}  // namespace proctor
