#include "harness/frameworks/equal_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/base/text.h"

namespace proctor {
namespace {

// Returns the byte of `\xNN` at `at`, if a report escapes this byte: a control character, or a byte outside
// of ASCII.
std::optional<char> escaped_byte(std::string_view name, std::size_t at) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (name.size() - at < 4 || name.substr(at, 2) != "\\x") return std::nullopt;
  const std::size_t high = kDigits.find(name[at + 2]), low = kDigits.find(name[at + 3]);
  if (high == kDigits.npos || low == kDigits.npos) return std::nullopt;
  const std::size_t byte = high * 16 + low;
  const bool is_odd = byte > 0 && (byte < 0x20 || byte >= 0x7f);
  return is_odd ? std::optional(static_cast<char>(byte)) : std::nullopt;
}

// Returns the first name of the list. A comma in a name has a backslash before it.
std::string_view first_in(std::string_view list) {
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list[at] == '\\') {
      ++at;
    } else if (list[at] == ',') {
      return list.substr(0, at);
    }
  }
  return list;
}

}  // namespace

std::vector<std::string> spellings_of(const std::string& name) {
  std::string bytes;
  for (std::size_t at = 0; at < name.size();) {
    const auto byte = escaped_byte(name, at);
    bytes += byte.value_or(name[at]);
    at += byte ? 4 : 1;
  }
  if (bytes == name) return {name};
  return {name, bytes};
}

std::map<std::size_t, int> join_equal_names(std::vector<Case>& cases,
                                            const std::function<std::string(const Case&)>& key_of,
                                            const Suite& suite, std::vector<Warning>& warnings) {
  std::map<std::string, std::size_t> first;  // key -> index in `kept`
  std::map<std::size_t, int> counts;
  std::vector<Case> kept;
  for (Case& test : cases) {
    const auto [known, is_new] = first.emplace(key_of(test), kept.size());
    if (is_new) {
      kept.push_back(std::move(test));
      continue;
    }
    Case& joined = kept[known->second];
    joined.group.clear();
    joined.disabled = joined.disabled && test.disabled;
    for (std::string& tag : test.tags) {
      if (std::ranges::find(joined.tags, tag) == joined.tags.end()) joined.tags.push_back(std::move(tag));
    }
    counts.try_emplace(known->second, 1).first->second += 1;
  }
  for (const auto& [which, count] : counts) {
    warnings.push_back(
        {WarningCode::kCaseWarning,
         fmt::format("suite `{}` ({}): {} tests have the name `{}`, by which their framework cannot "
                     "distinguish them. They are one case, which fails if one of them fails",
                     suite.name, suite.origin, count, clean_text(kept[which].name))});
  }
  cases = std::move(kept);
  return counts;
}

void join_listed_names(std::vector<Case>& cases, const std::function<std::string(const Case&)>& key_of,
                       std::string_view option, const Suite& suite, std::vector<Warning>& warnings) {
  for (const auto& [which, count] : join_equal_names(cases, key_of, suite, warnings)) {
    std::string& list = cases[which].argv.back();
    const std::string names = list.substr(option.size());
    for (int more = 1; more < count; ++more) list += "," + names;
  }
}

int tests_of(const Case& test, std::string_view option) {
  if (test.argv.empty() || !test.argv.back().starts_with(option)) return 1;
  std::string_view list = std::string_view(test.argv.back()).substr(option.size());
  const std::string_view first = first_in(list);
  int count = 0;
  while (!list.empty()) {
    const std::string_view name = first_in(list);
    count += name == first;
    list.remove_prefix(std::min(name.size() + 1, list.size()));
  }
  return std::max(count, 1);
}

}  // namespace proctor
