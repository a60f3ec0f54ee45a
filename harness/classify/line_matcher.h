// Matches all patterns of some rules against many lines, in time linear in the text: a line is tried only
// against patterns whose anchor it contains, and anchors are found by their first bytes.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/classify/rules.h"

namespace proctor {

class LineMatcher {
 public:
  // Takes the rules that look at one of `where`. `rules` must outlive this object.
  LineMatcher(const RuleSet& rules, std::initializer_list<Where> where);

  // The rules that match, in their order. Valid until the next call.
  const std::vector<const Rule*>& match(std::string_view line);

 private:
  struct Entry {
    const Rule* rule;
    const Pattern* pattern;
    std::uint64_t tried = 0;  // the line at which it was last tried
  };
  void add(const Rule& rule, const Pattern& pattern);
  void try_at(std::string_view rest, std::string_view line, std::uint32_t key);

  std::vector<Entry> entries_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> by_key_;
  std::bitset<65536> may_begin_;
  std::uint64_t line_ = 0;
  std::vector<const Rule*> found_;
};

}  // namespace proctor
