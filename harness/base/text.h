// Functions for text from untrusted sources: cleaning, near-miss suggestions, globs and shell words. Every
// writer of a report cleans text with clean_text(). Example:
//
//   const std::string clean = clean_text("\x1b[31mred\x1b[0m\x01");         // "red\\x01"
//   const std::string meant = near_miss("time-out", {"timeout", "grace"});  // "timeout"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

// Makes any bytes valid UTF-8 and valid XML 1.0 characters (XML 1.0, section 2.2). A byte that is not allowed
// becomes visible text, `\x1B`. CSI and OSC sequences, which set colours, are removed first.
std::string clean_text(std::string_view bytes);

// Escapes valid characters that control a terminal or a log viewer, in the same form. These are C1 controls
// (a single U+009B begins a sequence, as ESC [ does), marks that change the direction of text, and the
// separators of lines and paragraphs. All other text stays, including colour sequences that Proctor writes.
std::string without_hidden_controls(std::string_view text);

// Returns the candidate that is closest to `word`, or "" if none is close. The edit distance must be at most
// a third of the length of `word`. `-` and `_` count as equal.
std::string near_miss(std::string_view word, const std::vector<std::string>& candidates);
// Returns the hint of an error about an unknown word: "Did you mean `timeout`?". Returns `otherwise` if no
// candidate is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string otherwise = {});
// Returns that hint. If no candidate is close, it lists all of them: "Known profiles: nightly, quick."
// Returns "" if there are no candidates.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates,
                       std::string_view noun);

// Returns whether the whole `text` matches a shell pattern: `*` matches any characters, `?` matches one.
// `[...]` has no special meaning.
bool glob_match(std::string_view pattern, std::string_view text);

// Quotes the word so that a POSIX shell parses it as one word.
std::string shell_quote(std::string_view word);
// Splits a command line as a POSIX shell does. Only quotes, backslashes and $'...' with octal numbers are
// supported.
Result<std::vector<std::string>> shell_words(std::string_view text);

}  // namespace proctor
