// Parses result files of test frameworks, which are not always valid JSON:
//
//   an invalid byte in a string, such as ESC or Latin-1     becomes visible text, as in clean_text()
//   a number in the program's locale: 1,5 or 1.204,5        becomes 1.5 or 1204.5, or a string if it is ambiguous
//   a number that is not finite: NaN, -Infinity             becomes null
//   a quote in a key (GoogleTest's RecordProperty)          is part of the key
//
// The frameworks write each member on its own line, so an invalid line does not affect the others.
#pragma once

#include <string_view>

#include "harness/base/json.h"

namespace proctor {

// Parses a result file. The value is discarded if the text is still not JSON, or exceeds the limits of
// base/document_limits.h.
nlohmann::json parse_foreign_json(std::string_view text);

}  // namespace proctor
