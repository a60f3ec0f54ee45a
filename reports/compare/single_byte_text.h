// Converts single-byte encodings of XML files to UTF-8: ISO-8859-1, ISO-8859-15 and windows-1252. An XML parser must support
// UTF-8 and UTF-16 only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace proctor {

// Also true for ASCII and for UTF-16: if the declaration is readable as bytes, the file is not UTF-16 but UTF-8.
bool is_utf8(std::string_view encoding);

// Returns nothing for an unknown encoding. An undefined byte becomes U+FFFD.
std::optional<std::string> utf8_of(std::string_view text, std::string_view encoding);

}  // namespace proctor
