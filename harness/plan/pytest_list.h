// What our pytest plugin (pytest/proctor_pytest.py) prints when it is told to list, and how it is told.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.h"

namespace proctor {

struct PytestTest {
  std::string nodeid;  // "tests/test_moe.py::test_big[fp16-128]"
  std::string file;
  std::string classname;  // both as pytest's own JUnit has them
  std::string name;
  // Marker -> its first argument; none if it has no argument, or one that is no whole number.
  std::map<std::string, std::optional<int>> markers;
};

// One line of the list; the error completes "wrote an event line that ...".
Result<PytestTest> parse_pytest_test(std::string_view line);

// The messages about tests that could not be collected: the `fail` events among the lines.
std::vector<std::string> pytest_list_failures(const std::vector<std::string>& lines);

std::vector<std::string> pytest_list_command(std::vector<std::string> command);
std::vector<std::string> pytest_case_command(std::vector<std::string> command, const std::string& nodeid);
// Turns the command of one case into the command for the cases in `file`, a JSON array of their node ids.
std::vector<std::string> pytest_batch_command(std::vector<std::string> case_command, const std::string& file);

}  // namespace proctor
