#include "harness/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace proctor {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// A code point and its length in bytes. The length is 0 if no valid UTF-8 starts at `at` (RFC 3629: no
// overlong form, no surrogate, no value above U+10FFFF).
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;
};

CodePoint decode(std::string_view text, std::size_t at) {
  const unsigned char lead = byte_at(text, at);
  if (lead < 0x80) return {lead, 1};
  std::size_t length = 0;
  std::uint32_t value = 0;
  std::uint32_t least = 0;
  if ((lead & 0xe0) == 0xc0) {
    length = 2, value = lead & 0x1f, least = 0x80;
  } else if ((lead & 0xf0) == 0xe0) {
    length = 3, value = lead & 0x0f, least = 0x800;
  } else if ((lead & 0xf8) == 0xf0) {
    length = 4, value = lead & 0x07, least = 0x10000;
  } else {
    return {};
  }
  if (at + length > text.size()) return {};
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned char next = byte_at(text, at + i);
    if ((next & 0xc0) != 0x80) return {};
    value = value << 6 | (next & 0x3f);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < least || value > 0x10ffff || surrogate) return {};
  return {value, length};
}

// XML 1.0 (fifth edition) section 2.2, production Char. The decoder has already rejected surrogates.
bool is_xml_char(std::uint32_t c) {
  return c == 0x9 || c == 0xa || c == 0xd || (c >= 0x20 && c != 0xfffe && c != 0xffff);
}

// ECMA-48 (C1); Unicode 15, section 23.2 and UAX #9 (explicit directional formatting and marks).
bool is_hidden_control(std::uint32_t c) {
  return (c >= 0x80 && c <= 0x9f) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void append_visible(std::string& out, unsigned char byte) {
  out += "\\x";
  out += "0123456789ABCDEF"[byte >> 4];
  out += "0123456789ABCDEF"[byte & 0xf];
}

// Length of the complete CSI or OSC sequence at `at` (ECMA-48 section 5.4; OSC as xterm ends it), or 0.
std::size_t escape_sequence_length(std::string_view text, std::size_t at) {
  // limit, so that an unterminated OSC does not remove all remaining text
  constexpr std::size_t kMaxOsc = 4096;
  if (byte_at(text, at) != 0x1b || at + 1 >= text.size()) return 0;
  if (text[at + 1] == '[') {
    std::size_t i = at + 2;
    while (i < text.size() && byte_at(text, i) >= 0x20 && byte_at(text, i) <= 0x3f) ++i;
    const bool ended = i < text.size() && byte_at(text, i) >= 0x40 && byte_at(text, i) <= 0x7e;
    return ended ? i + 1 - at : 0;
  }
  if (text[at + 1] == ']') {
    for (std::size_t i = at + 2; i < text.size() && i - at < kMaxOsc && text[i] != '\n'; ++i) {
      if (text[i] == '\a') return i + 1 - at;
      if (text[i] == '\x1b') return i + 1 < text.size() && text[i + 1] == '\\' ? i + 2 - at : 0;
    }
  }
  return 0;
}

// Normalises a character for near misses: letters in lower case, `-` as `_`.
char folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

// The optimal string alignment distance. Insert, delete, replace, and swap of adjacent characters cost one
// each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(previous);
    previous.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (same ? 0u : 1u)});
      const bool swapped =
          i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

bool needs_no_quotes(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
}

}  // namespace

std::string clean_text(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const auto rest = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto plain_end =
        // skips ordinary characters, which are almost all of the text
        std::find_if_not(rest, bytes.end(),
                         [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t'; });
    out.append(rest, plain_end);
    at = static_cast<std::size_t>(plain_end - bytes.begin());
    if (at == bytes.size()) break;
    if (const std::size_t length = escape_sequence_length(bytes, at); length > 0) {
      at += length;
      continue;
    }
    const CodePoint code = decode(bytes, at);
    if (code.length > 0 && is_xml_char(code.value)) {
      out += bytes.substr(at, code.length);
      at += code.length;
      continue;
    }
    for (std::size_t left = std::max<std::size_t>(code.length, 1); left > 0; --left) {
      append_visible(out, byte_at(bytes, at++));
    }
  }
  return out;
}

std::string without_hidden_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint code = decode(text, at);
    const std::size_t length = std::max<std::size_t>(code.length, 1);
    if (code.length > 1 && is_hidden_control(code.value)) {
      for (std::size_t i = 0; i < length; ++i) append_visible(out, byte_at(text, at + i));
    } else {
      out += text.substr(at, length);
    }
    at += length;
  }
  return out;
}

std::string near_miss(std::string_view word, const std::vector<std::string>& candidates) {
  std::size_t best = word.size() / 3 + 1;
  const std::string* found = nullptr;
  for (const std::string& candidate : candidates) {
    const std::size_t gap = std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size());
    if (gap >= best) continue;
    if (const std::size_t distance = edit_distance(word, candidate); distance < best) {
      best = distance;
      found = &candidate;
    }
  }
  return found != nullptr ? *found : "";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string otherwise) {
  const std::string near = near_miss(word, candidates);
  return near.empty() ? std::move(otherwise) : fmt::format("Did you mean `{}`?", near);
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates,
                       std::string_view noun) {
  if (candidates.empty()) return {};
  return did_you_mean(word, candidates, fmt::format("Known {}: {}.", noun, fmt::join(candidates, ", ")));
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = pattern.npos;  // the last `*`, and the current end of its match in the text
  std::size_t run_end = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      run_end = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++run_end;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string shell_quote(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), needs_no_quotes)) return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

namespace {

bool is_octal(std::string_view digits) {
  return std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '7'; });
}

}  // namespace

Result<std::vector<std::string>> shell_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && text.substr(i).starts_with("$'")) {
      quote = '$';
      in_word = true;
      ++i;
    } else if (quote == '$' && c == '\\' && i + 3 < text.size() && is_octal(text.substr(i + 1, 3))) {
      word += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
      i += 3;
    } else if (quote == '$' && c == '\'') {
      quote = 0;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return Error::usage("read `" + std::string(text) + "`: a quote is not closed");
  if (in_word) words.push_back(word);
  return words;
}

}  // namespace proctor
