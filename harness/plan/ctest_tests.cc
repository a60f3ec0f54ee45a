#include "harness/plan/ctest_tests.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/base/json.h"
#include "harness/base/outside_program.h"
#include "harness/base/text.h"

namespace proctor {

namespace {

using nlohmann::json;

constexpr std::array kJudges = {"WILL_FAIL",
                                "PASS_REGULAR_EXPRESSION",
                                "FAIL_REGULAR_EXPRESSION",
                                "FIXTURES_SETUP",
                                "FIXTURES_CLEANUP",
                                "FIXTURES_REQUIRED",
                                "REQUIRED_FILES",
                                "DEPENDS",
                                "ENVIRONMENT_MODIFICATION"};

std::string string_or_empty(const json& value) { return value.is_string() ? value.get<std::string>() : ""; }

void read_property(const json& property, CTestTest& test) {
  if (!property.is_object()) return;
  const std::string name = string_or_empty(property.value("name", json()));
  const json value = property.value("value", json());
  if (std::ranges::find(kJudges, name) != kJudges.end()) test.judge = name;
  if (name == "WORKING_DIRECTORY") test.directory = string_or_empty(value);
  if (name != "ENVIRONMENT" || !value.is_array()) return;
  for (const json& variable : value) {
    const std::string text = string_or_empty(variable);
    if (const auto equals = text.find('='); equals != text.npos)
      test.env[text.substr(0, equals)] = text.substr(equals + 1);
  }
}

CTestTest test_of(const json& listed) {
  CTestTest test;
  if (!listed.is_object()) return test;
  test.name = string_or_empty(listed.value("name", json()));
  for (const json& word : listed.value("command", json::array()))
    test.command.push_back(string_or_empty(word));
  for (const json& property : listed.value("properties", json::array())) read_property(property, test);
  return test;
}

}  // namespace

Result<std::vector<CTestTest>> ctest_tests(const std::string& build, Milliseconds limit) {
  const auto answer = run_outside_program(
      {.argv = {"ctest", "--test-dir", build, "--show-only=json-v1"}, .package = "cmake", .time = limit});
  if (!answer) return answer.error();
  if (answer->exit_code != 0) {
    return Error::usage("list the tests of CTest: ctest exits with " + std::to_string(answer->exit_code) +
                        ": " + clean_text(answer->errors.substr(0, answer->errors.find('\n'))));
  }
  const json document = parse_json(answer->output);
  const json listed = document.is_object() ? document.value("tests", json()) : json();
  if (!listed.is_array())
    return Error::usage("list the tests of CTest: ctest prints no list (CMake >= 3.20 does)");
  std::vector<CTestTest> tests;
  for (const json& test : listed) tests.push_back(test_of(test));
  return tests;
}

std::string ctest_pattern(const std::vector<std::string>& names) {
  std::string pattern;
  for (const std::string& name : names) {
    pattern += pattern.empty() ? "" : "|";
    for (const char c : name) {
      if (std::string_view(".[]()*+?^$|\\").find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
  }
  return "^(" + pattern + ")$";
}

}  // namespace proctor
