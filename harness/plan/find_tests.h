// Finds what in a directory looks like tests, for `proctor init`. Nothing is started, and no link is followed. What is left
// out is said: what cannot be read, what is too deep, and older builds of the same project.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"

namespace proctor {

struct PytestPlace {
  std::string directory;             // in which pytest starts; "." is the top
  std::string sign;                  // how it shows: "pytest.ini", "tests/test_copy.py"
  std::vector<std::string> folders;  // what pytest is told to collect; none: what its configuration says
};

struct LeftOut {
  std::string path;
  std::string why;  // a predicate: "cannot be read: Permission denied"
};

// All paths are relative to the directory.
struct FoundTests {
  std::vector<std::string> programs;  // executables that contain the listing option of a framework
  std::vector<std::string> ctest;     // directories of CTest, without those that they include
  std::vector<PytestPlace> pytest;
  std::vector<LeftOut> left_out;
};

FoundTests find_tests(const std::string& directory);

// The tests that CTest lists for a build directory, as `ctest --show-only=json-v1` says (source: ctest(1), "Show as JSON
// Object Model").
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
