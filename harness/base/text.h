// For text that may hold anything: the one function with which every writer cleans it, and near-miss
// suggestions. Example:
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

// What a terminal or a log viewer obeys although it is valid text, made visible in the same way: C1 controls (a lone
// U+009B begins a sequence as ESC [ does), the marks that turn the direction of text (so that it reads as something
// else), and the separators of lines and paragraphs. Everything else stays, our own colours too.
std::string without_hidden_controls(std::string_view text);

// The candidate that is closest to `word`, or "" when none is close: the edit distance must be at most a
// third of the length of `word`. `-` and `_` count as the same.
std::string near_miss(std::string_view word, const std::vector<std::string>& candidates);
// The hint of an error about a word that is none of these: "Did you mean `timeout`?", or what is said otherwise when none
// is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string otherwise = {});
// Otherwise all of them: "Known profiles: nightly, quick." Nothing of none.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates,
                       std::string_view noun);

// Whether the whole of `text` matches a pattern as in a shell: `*` stands for any characters, `?` for one.
// `[...]` has no special meaning.
bool glob_match(std::string_view pattern, std::string_view text);

// The word, quoted so that a POSIX shell reads it back as one word.
std::string shell_quote(std::string_view word);
// The words of a command line as a POSIX shell splits them; quotes and backslashes only, and $'...' with octal numbers.
Result<std::vector<std::string>> shell_words(std::string_view text);

}  // namespace proctor
