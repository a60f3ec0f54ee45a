// The limits of a document that another program or user wrote, in JSON, XML or TOML. Functions that walk,
// copy, print or destroy its tree recurse once for each level. A document without a limit on nesting would
// exhaust the stack. The parse functions below check these limits. No other code calls a parser
// (docs/internals/architecture.py):
//
//   JSON   parse_json()   base/json.h
//   TOML   parse_toml()   base/toml_reader.h
//   XML    parse_xml()    frameworks/xml_report.h (its parser does not recurse; the tree is checked before a walk)
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace proctor {

inline constexpr std::size_t kMostNesting = 100;  // depth of nested values, tables or elements
inline constexpr std::size_t kMostDocumentBytes = std::size_t{256} << 20;

// Returns "" if a JSON parser may read the text. Otherwise returns why not: "it has values within values,
// more than 100 deep".
std::string beyond_json_limits(std::string_view text);

}  // namespace proctor
