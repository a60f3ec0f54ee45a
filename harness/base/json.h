// Includes nlohmann's JSON library. Its reader and writer are compiled once, in json.cc. Compiling them in
// each source would take a third of the compile time of that source. Other files include this header instead
// of the library's. Example:
//
//   const auto report = parse_json(R"({"pass": 3})");
//   const int passed = report.is_object() ? report.value("pass", 0) : 0;
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "harness/base/document_limits.h"

// The names below are internal to the library. They are valid for this version only.
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

// Returns a discarded value if the text is not JSON, or exceeds the limits of base/document_limits.h.
nlohmann::json parse_json(std::string_view text);

// Returns the string at `key`, or "" if the value is missing or not a string. Another program can have
// written any type.
std::string text_at(const nlohmann::json& object, const char* key);

// Returns the text as a basic string of TOML, with its quotes. The text must be clean (base/text.h). Clean
// text needs the same escapes in TOML and in JSON.
std::string toml_text(const std::string& text);

}  // namespace proctor
