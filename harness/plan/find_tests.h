// Finds test programs in a directory, for `proctor init`. It starts no program and follows no link. It
// reports skipped entries: unreadable ones, entries that are too deep, and older builds of the same project.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"

namespace proctor {

// A directory in which pytest can run.
struct PytestPlace {
  std::string directory;             // start directory of pytest; "." is the top
  std::string sign;                  // the file that shows it: "pytest.ini", "tests/test_copy.py"
  std::vector<std::string> folders;  // arguments of pytest; empty: its configuration selects the tests
};

// An entry that was skipped.
struct LeftOut {
  std::string path;
  std::string why;  // the reason as a predicate: "cannot be read: Permission denied"
};

// The result of a search. All paths are relative to the directory.
struct FoundTests {
  std::vector<std::string> programs;  // executables that contain the listing option of a framework
  std::vector<std::string> ctest;     // build directories of CTest, without included ones
  std::vector<PytestPlace> pytest;
  std::vector<LeftOut> left_out;
};

FoundTests find_tests(const std::string& directory);

// A test that CTest lists for a build directory with `ctest --show-only=json-v1` (source: ctest(1), "Show as
// JSON Object Model").
struct CTestTest {
  std::string name;
  std::vector<std::string> command;  // empty: the program is not built
  std::string directory;             // absolute path
  std::map<std::string, std::string> env;
  std::string judge;  // a property with which only CTest judges or prepares the test: "WILL_FAIL"
};

Result<std::vector<CTestTest>> ctest_tests(const std::string& build, Milliseconds limit);

// Returns a pattern for `ctest --tests-regex` that matches exactly these names.
std::string ctest_pattern(const std::vector<std::string>& names);

}  // namespace proctor
