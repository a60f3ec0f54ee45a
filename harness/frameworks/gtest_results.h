// The result file of a GoogleTest program (--gtest_output=json:FILE) as lines of the child protocol. GoogleTest writes
// it after its last test, so that a program that a test ended has none.
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

// The member `key` of `object` if it is an array, else an empty one.
const nlohmann::json& array_of(const nlohmann::json& object, const char* key);

// Tells each test that ran under its own name, so that a program that runs others than the one it was asked for,
// whatever its main() does with the filter, is found out. The words of a skip that are not in the file are taken from
// what the program printed.
std::unique_ptr<Translator> gtest_result_file();

// The same of a program that was asked for several tests. `describe_skip`: what it said when it skipped a test. Empty:
// the text is no result file.
std::vector<std::string> report_gtest_results(
    std::string_view text, const std::function<std::string(const std::string&)>& describe_skip);

// The first line of what GTEST_SKIP() was told.
std::string gtest_skip_reason(std::string_view words);

}  // namespace proctor
