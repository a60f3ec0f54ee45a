#include "harness/classify/pattern.h"

#include <algorithm>

#include "harness/base/words.h"

namespace proctor {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool splits_word(std::string_view line, std::size_t at) {
  return at > 0 && at < line.size() && is_word(line[at - 1]) && is_word(line[at]);
}

}  // namespace

Pattern::Pattern(std::string_view text) {
  if (text.starts_with('^')) {
    at_begin_ = true;
    text.remove_prefix(1);
  }
  if (text.ends_with('$')) {
    at_end_ = true;
    text.remove_suffix(1);
  }
  while (!text.empty()) {
    const auto star = std::min(text.find('*'), text.size());
    if (star > 0) pieces_.emplace_back(text.substr(0, star));
    text.remove_prefix(std::min(star + 1, text.size()));
  }
}

bool Pattern::matches(std::string_view line) const {
  if (at_begin_ || at_end_) line = trimmed(line);
  if (pieces_.empty()) return false;
  std::size_t from = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const std::string& piece = pieces_[i];
    const bool first = i == 0;
    const bool last = i + 1 == pieces_.size();
    if (last && at_end_) {
      if (line.size() < from + piece.size() || !line.ends_with(piece)) return false;
      const std::size_t at = line.size() - piece.size();
      return first ? (at_begin_ ? at == 0 : !splits_word(line, at)) : true;
    }
    std::size_t at = line.find(piece, from);
    while (at != line.npos &&
           ((first && splits_word(line, at)) || (last && splits_word(line, at + piece.size()))))
      at = line.find(piece, at + 1);
    if (at == line.npos || (first && at_begin_ && at != 0)) return false;
    from = at + piece.size();
  }
  return true;
}

std::string_view Pattern::anchor() const {
  const auto longest = std::max_element(pieces_.begin(), pieces_.end(),
                                        [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return longest == pieces_.end() ? std::string_view() : std::string_view(*longest);
}

}  // namespace proctor
