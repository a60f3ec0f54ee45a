#include "harness/plan/gtest_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/text.h"

namespace proctor {

namespace {

constexpr std::string_view kIndent = "  ";
constexpr std::string_view kComment = "  # ";

// GoogleTest runs no test whose name, or group, begins so; both may follow the '/' of an instantiation.
bool is_disabled(std::string_view name) {
  return name.starts_with("DISABLED_") || name.find("/DISABLED_") != std::string_view::npos;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && static_cast<unsigned char>(c) != 0x7f;
  });
}

// The group that an unindented line opens, or "": then it is chatter of the program. Only a typed suite,
// whose type stands in a comment, may have blanks in its name.
std::string_view group_of(std::string_view line) {
  const std::size_t comment = line.find(kComment);
  const bool typed = comment != line.npos && line.substr(comment).starts_with("  # TypeParam");
  std::string_view name = line.substr(0, comment);
  if (!name.ends_with('.')) return {};
  name.remove_suffix(1);
  return is_word(name) || (typed && name.find('/') != name.npos) ? name : std::string_view();
}

}  // namespace

Result<std::vector<GtestName>> parse_gtest_list(std::string_view text) {
  std::vector<GtestName> names;
  std::string group;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == text.npos ? text.size() : newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.starts_with(kIndent)) {
      if (const std::string_view opened = group_of(line); !opened.empty()) group = opened;
      continue;
    }
    std::string_view name = line.substr(kIndent.size());
    name = name.substr(0, name.find(kComment));
    if (!is_word(name))
      return Error::usage(fmt::format("line {} is no test name: {}", number, clean_text(line)));
    if (group.empty()) {
      return Error::usage(fmt::format("line {} is a test without a group: {}", number, clean_text(line)));
    }
    names.push_back({group, std::string(name), is_disabled(group) || is_disabled(name)});
  }
  return names;
}

Result<std::string> gtest_filter_for(const std::string& name, const std::vector<std::string>& all) {
  std::string filter = name;
  std::replace_if(
      filter.begin(), filter.end(), [](char c) { return c == ':' || c == '-' || c == '*'; }, '?');
  if (filter.find('?') == std::string::npos) return filter;
  for (const std::string& other : all) {
    if (other != name && glob_match(filter, other)) {
      return Error::usage(fmt::format("GoogleTest cannot tell `{}` from `{}` in a filter", name, other),
                          "Rename one of them, or run the suite with process = \"suite\".");
    }
  }
  return filter;
}

}  // namespace proctor
