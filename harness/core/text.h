// Text that may hold anything: the one cleaning function in front of every writer, and near-miss suggestions.
// Example:
//
//   const std::string clean = clean_text("\x1b[31mred\x1b[0m\x01");         // "red\\x01"
//   const std::string meant = near_miss("time-out", {"timeout", "grace"});  // "timeout"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

// Makes any bytes valid UTF-8 and valid XML 1.0 characters: what is not allowed becomes visible
// as `\x1B` (source: XML 1.0 section 2.2; none of the common writers does this). CSI/OSC colour
// sequences are removed first.
std::string clean_text(std::string_view bytes);

// The candidate closest to `word` (edit distance at most a third of its length, `-` and `_` alike), or "".
std::string near_miss(std::string_view word, const std::vector<std::string>& candidates);

// Shell-style pattern over a whole id: `*` any run, `?` one character, `[...]` not special.
bool glob_match(std::string_view pattern, std::string_view text);

// Quoted so that a POSIX shell reads it back as one word.
std::string shell_quote(std::string_view word);

}  // namespace proctor
