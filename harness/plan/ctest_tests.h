// The tests that CTest lists for a build directory, as `ctest --show-only=json-v1` says (source: ctest(1), "Show as JSON
// Object Model").
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"

namespace proctor {

struct CTestTest {
  std::string name;
  std::vector<std::string> command;  // empty: its program is not built
  std::string directory;             // absolute
  std::map<std::string, std::string> env;
  std::string judge;  // a property by which CTest judges or prepares the test, and nobody else: "WILL_FAIL"
};

Result<std::vector<CTestTest>> ctest_tests(const std::string& build, Milliseconds limit);

// The pattern of `ctest --tests-regex` that matches these names and no others.
std::string ctest_pattern(const std::vector<std::string>& names);

}  // namespace proctor
