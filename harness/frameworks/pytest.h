// pytest, with Proctor's plugin (pytest/proctor_pytest.py), which writes the child protocol.
//
//   list   CMD -p proctor_pytest --proctor-list: events of type `case`
//   run    CMD -p proctor_pytest --proctor-case=NODEID
//   batch  CMD -p proctor_pytest --proctor-cases=FILE, a JSON array of node ids
//
//   no `end` event                        error(no_result)
//   invalid events                        error(protocol)
//   end contradicts the exit code         error(result_mismatch)
//   end pass | fail | skip                pass | fail(R) | skip(R)
//   end xfail | xpass                     xfail(R) | xpass(R)
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/frameworks/kind.h"

namespace proctor {

const Kind& pytest_kind();

// ---- for the tests

// One test of pytest's list.
struct PytestTest {
  std::string nodeid;  // "tests/test_moe.py::test_big[fp16-128]"
  std::string file;
  std::string classname;  // classname and name as in pytest's own JUnit file
  std::string name;
  // Marker -> its first argument; none if it has no argument, or one that is not an integer.
  std::map<std::string, std::optional<int>> markers;
};

// Parses one line of the list. The error completes "wrote an event line that ...".
Result<PytestTest> parse_pytest_test(std::string_view line);

}  // namespace proctor
