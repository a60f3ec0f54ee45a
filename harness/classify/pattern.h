// What a rule looks for in one line: literal pieces in a fixed order, with `*` for anything in between.
//
//   `^` first, `$` last   the line begins, or ends, here (blanks around the line do not count)
//
// A piece that begins or ends the pattern with a letter, a digit or `_` does so at a word's edge:
// `cudaErrorAssert` is not in `cudaErrorAssertNot`. Matching is linear in the line, whatever the line is:
// pieces are found from left to right and never looked for again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

class Pattern {
 public:
  explicit Pattern(std::string_view text);

  bool matches(std::string_view line) const;

  // The longest piece: a line without it does not match.
  std::string_view anchor() const;

 private:
  std::vector<std::string> pieces_;
  bool at_begin_ = false;
  bool at_end_ = false;
};

}  // namespace proctor
