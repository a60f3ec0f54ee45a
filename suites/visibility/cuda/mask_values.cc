#include "suites/visibility/cuda/mask_values.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace proctor::visibility {
namespace {

constexpr std::size_t kShortest = std::string_view("GPU-0").size();

using Value = std::variant<std::string, Lacking>;

std::string common_beginning(const std::vector<std::string>& pool) {
  for (std::size_t i = 0; i < pool.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto [end, ignored] = std::ranges::mismatch(pool[i], pool[j]);
      const std::string common(pool[i].begin(), end);
      if (common.size() >= kShortest) return common;
    }
  }
  return {};
}

// The number in a word such as "prefix1"; nullopt: the word is not of this kind.
std::optional<std::size_t> number_behind(std::string_view word, std::string_view kind) {
  if (!word.starts_with(kind)) return std::nullopt;
  word.remove_prefix(kind.size());
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc{} && end == word.data() + word.size() ? std::optional(number) : std::nullopt;
}

Value word_value(std::string_view word, const Names& names) {
  const auto& pool = names.pool;
  if (word == "N") return std::to_string(names.machine.size());
  if (word == "last") return std::to_string(names.ordinals.back());
  if (word == "zero") {
    if (names.ordinals.front() != 0) return Lacking{"needs:device_0"};
    return "0";
  }
  if (word == "common") {
    auto common = common_beginning(pool);
    if (common.empty()) return Lacking{"needs:uuids_that_begin_alike"};
    return common;
  }
  for (const std::string_view kind : {"", "uuid", "prefix", "bare"}) {
    const auto number = number_behind(word, kind);
    if (!number) continue;
    if (*number >= pool.size()) return Lacking{"needs:devices>=" + std::to_string(*number + 1)};
    const auto& name = pool[*number];
    if (kind == "uuid") return name;
    if (kind == "prefix") return shortest_unique_prefix(name, names.machine);
    if (kind == "bare") return name.substr(name.find('-') + 1);
    return std::to_string(names.ordinals[*number]);
  }
  return Lacking{"unknown word " + std::string(word)};
}

}  // namespace

std::string shortest_unique_prefix(const std::string& name, const std::vector<std::string>& all) {
  for (std::size_t size = kShortest; size < name.size(); ++size) {
    const auto prefix = name.substr(0, size);
    const auto has_it = [&](const std::string& other) { return other.starts_with(prefix); };
    if (std::ranges::count_if(all, has_it) == 1) return prefix;
  }
  return name;
}

Value mask_value(std::string_view pattern, const Names& names) {
  std::string value;
  while (!pattern.empty()) {
    const auto open = std::min(pattern.find('{'), pattern.size());
    value += pattern.substr(0, open);
    pattern.remove_prefix(open);
    if (pattern.empty()) break;
    const auto close = pattern.find('}');
    const auto word = word_value(pattern.substr(1, close - 1), names);
    if (std::holds_alternative<Lacking>(word)) return word;
    value += std::get<std::string>(word);
    pattern.remove_prefix(close + 1);
  }
  return value;
}

}  // namespace proctor::visibility
