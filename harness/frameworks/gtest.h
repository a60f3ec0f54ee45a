// GoogleTest programs.
//
//   list   CMD --gtest_list_tests: stdout, never its stderr
//   run    CMD --gtest_filter=NAME --gtest_output=json:FILE. An exit code alone cannot tell a pass from a skip,
//          or from exit(0) in the middle of a test (GoogleTest advanced guide, "Generating a JSON Report").
//
// Of several tests in a process:
//   1. our listener (gtest/proctor_gtest_listener.cc), if it is linked, reports each one in events
//   2. otherwise the result file has the results, and the lines on stdout show which one runs (gtest_progress.h)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/frameworks/kind.h"

namespace proctor {

const Kind& gtest_kind();

// ---- for the tests

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

// Whether, among the event lines of a program, our listener announced itself.
bool announces_gtest_listener(const std::vector<std::string>& event_lines);

}  // namespace proctor
