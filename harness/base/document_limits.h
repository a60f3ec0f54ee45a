// How much a document may be that somebody else wrote: JSON, XML or TOML. Whoever walks, copies, prints or destroys its
// tree calls itself once for each level, so that a document without a limit ends the program that reads it. The functions
// that parse hold to these limits, and nothing else calls a parser (docs/internals/architecture.py):
//
//   JSON   parse_json()   base/json.h
//   TOML   parse_toml()   base/toml_reader.h
//   XML    parse_xml()    frameworks/xml_report.h, whose parser keeps its own stack; the tree is counted before it is walked
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace proctor {

inline constexpr std::size_t kMostNesting = 100;  // values, tables or elements within each other
inline constexpr std::size_t kMostDocumentBytes = std::size_t{256} << 20;

// "" where a parser of JSON may have the text, else why not: "it has values within values, more than 100 deep".
std::string beyond_json_limits(std::string_view text);

}  // namespace proctor
