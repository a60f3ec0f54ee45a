// The text in which GoogleTest lists its tests, and the filter that selects one of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.h"

namespace proctor {

// One listed GoogleTest test.
struct GtestName {
  std::string group;
  std::string name;
  bool disabled = false;
};

// Reads `--gtest_list_tests` output. Comments (`# TypeParam`, `# GetParam()`) and unindented chatter are
// dropped; an indented line that is no test name, or comes before any group, is an error with its number.
Result<std::vector<GtestName>> parse_gtest_list(std::string_view text);

// A filter that selects exactly `name` among `all` ("Group.Name" each). GoogleTest cannot quote `:`, `-` and
// `*`, so these become `?`; an error when that would also select another test.
Result<std::string> gtest_filter_for(const std::string& name, const std::vector<std::string>& all);

}  // namespace proctor
