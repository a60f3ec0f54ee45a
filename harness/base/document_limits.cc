#include "harness/base/document_limits.h"

#include <fmt/format.h>

namespace proctor {
namespace {

// Returns the position after the JSON string that begins at `at`.
std::size_t end_of_text(std::string_view document, std::size_t at) {
  for (++at; at < document.size() && document[at] != '"'; ++at) {
    if (document[at] == '\\') ++at;
  }
  return at + 1;
}

// A parser needs about 60 bytes for each value. A value can be as short as two bytes of text.
constexpr std::size_t kMostValues = 20'000'000;

// Counts nesting and values. If the document is not valid JSON, the counts are exact up to the position of
// the error, where the parser stops too.
std::string too_much_in(std::string_view document) {
  std::size_t depth = 0;
  std::size_t values = 0;
  for (std::size_t at = 0; at < document.size();) {
    const char c = document[at];
    if (c == '"') {
      at = end_of_text(document, at);
      continue;
    }
    const bool opens = c == '[' || c == '{';
    if (opens && ++depth > kMostNesting)
      return fmt::format("it has values within values, more than {} deep", kMostNesting);
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if ((opens || c == ',') && ++values > kMostValues)
      return fmt::format("it has more than {} values", kMostValues);
    ++at;
  }
  return "";
}

}  // namespace

std::string beyond_json_limits(std::string_view text) {
  if (text.size() > kMostDocumentBytes)
    return fmt::format("it has {} bytes, and {} are read", text.size(), kMostDocumentBytes);
  return text.size() <= kMostNesting ? "" : too_much_in(text);
}

}  // namespace proctor
