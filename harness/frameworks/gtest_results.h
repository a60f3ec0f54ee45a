// Translates the result file of a GoogleTest program (--gtest_output=json:FILE) into lines of the child
// protocol. GoogleTest writes the file after its last test, so it is missing if a test ended the program.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json.h"
#include "harness/frameworks/kind.h"

namespace proctor {

// Parses a list or a result file of GoogleTest, which is not always valid JSON, and restores its UTF-8 text.
nlohmann::json parse_gtest_json(std::string_view text);

// Returns the member `key` of `object` if it is an array, else an empty array.
const nlohmann::json& array_of(const nlohmann::json& object, const char* key);

// Returns a translator that reports each test that ran under its own name. A program that runs other tests
// than the requested one is thus detected, even if its main() changes the filter. Reasons of skips that the
// file lacks come from the output of the program.
std::unique_ptr<Translator> gtest_result_file();

// The same for a program that ran several tests. `describe_skip` returns the printed reason of a skip. The
// result is empty if the text is not a result file.
std::vector<std::string> report_gtest_results(
    std::string_view text, const std::function<std::string(const std::string&)>& describe_skip);

// Returns the first line of the argument of GTEST_SKIP().
std::string gtest_skip_reason(std::string_view words);

}  // namespace proctor
