#include "harness/classify/line_matcher.h"

#include <algorithm>
#include <cstring>

namespace proctor {
namespace {

constexpr std::size_t kKeyBytes = 4;

std::uint32_t key_at(const char* bytes) {
  std::uint32_t key = 0;
  std::memcpy(&key, bytes, kKeyBytes);
  return key;
}

// Knuth's multiplicative hash, the upper 16 bits.
std::size_t slot_of(std::uint32_t key) { return (key * 2654435761U) >> 16; }

}  // namespace

LineMatcher::LineMatcher(const RuleSet& rules, std::initializer_list<Where> where) {
  for (const Rule& rule : rules) {
    if (std::find(where.begin(), where.end(), rule.where) == where.end()) continue;
    for (const Pattern& pattern : rule.patterns) add(rule, pattern);
  }
}

void LineMatcher::add(const Rule& rule, const Pattern& pattern) {
  const std::uint32_t key = key_at(pattern.anchor().data());  // parse_rules refuses shorter anchors
  by_key_[key].push_back(entries_.size());
  may_begin_.set(slot_of(key));
  entries_.push_back({.rule = &rule, .pattern = &pattern});
}

const std::vector<const Rule*>& LineMatcher::match(std::string_view line) {
  found_.clear();
  ++line_;
  for (std::size_t at = 0; at + kKeyBytes <= line.size(); ++at) {
    const std::uint32_t key = key_at(line.data() + at);
    if (may_begin_.test(slot_of(key))) try_at(line.substr(at), line, key);
  }
  std::sort(found_.begin(), found_.end());  // they lie in one vector, in their order
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  return found_;
}

void LineMatcher::try_at(std::string_view rest, std::string_view line, std::uint32_t key) {
  const auto candidates = by_key_.find(key);
  if (candidates == by_key_.end()) return;
  for (const std::size_t index : candidates->second) {
    Entry& entry = entries_[index];
    if (entry.tried == line_ || !rest.starts_with(entry.pattern->anchor())) continue;
    entry.tried = line_;
    if (entry.pattern->matches(line)) found_.push_back(entry.rule);
  }
}

}  // namespace proctor
