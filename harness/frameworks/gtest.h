// GoogleTest programs.
//
//   list   CMD --gtest_list_tests: only stdout is read, not stderr
//   run    CMD --gtest_filter=NAME --gtest_output=json:FILE. An exit code alone does not distinguish a pass from a
//          skip, or from exit(0) in the middle of a test (GoogleTest advanced guide, "Generating a JSON Report").
//
// If a process runs several tests:
//   1. Proctor's listener (gtest/proctor_gtest_listener.cc), if it is linked, reports each one in events
//   2. otherwise the result file has the results, and the lines on stdout show the running test (gtest_progress.h)
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

// Reads `--gtest_list_tests` output. Comments (`# TypeParam`, `# GetParam()`) and other unindented output are
// dropped. An indented line that is not a test name, or precedes any group, is an error with its number.
Result<std::vector<GtestName>> parse_gtest_list(std::string_view text);

// Returns a filter that selects exactly `name` among `all` ("Group.Name" each). GoogleTest cannot quote `:`,
// `-` and `*`, so these become `?`. It is an error if the filter also selects another test.
Result<std::string> gtest_filter_for(const std::string& name, const std::vector<std::string>& all);

// Returns true if the event lines of a program contain the announcement of Proctor's listener.
bool announces_gtest_listener(const std::vector<std::string>& event_lines);

}  // namespace proctor
