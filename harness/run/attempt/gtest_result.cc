#include "harness/run/attempt/gtest_result.h"

#include <charconv>
#include <fstream>

#include "harness/core/json.h"
#include "harness/core/json_text.h"

namespace proctor {
namespace {

using nlohmann::json;

const json& array_of(const json& object, const char* key) {
  static const json kEmpty = json::array();
  const auto it = object.find(key);
  return it != object.end() && it->is_array() ? *it : kEmpty;
}

// The text starts with "FILE:LINE\n" where the failure has a place.
Failure split_failure(const std::string& text) {
  Failure failure;
  failure.message = text;
  const auto end_of_line = text.find('\n');
  const auto colon = text.rfind(':', end_of_line);
  if (end_of_line == std::string::npos || colon == std::string::npos || colon == 0) return failure;
  int line = 0;
  const char* last = text.data() + end_of_line;
  const auto [end, error] = std::from_chars(text.data() + colon + 1, last, line);
  if (error != std::errc() || end != last) return failure;
  failure.file = text.substr(0, colon);
  failure.line = line;
  failure.message = text.substr(end_of_line + 1);
  return failure;
}

void add_failures(const json& holder, std::vector<Failure>& failures) {
  for (const auto& entry : array_of(holder, "failures")) {
    if (entry.is_object()) failures.push_back(split_failure(text_at(entry, "failure")));
  }
}

// When an environment's set-up says that nothing can run, GoogleTest still calls its tests completed; that
// they never began shows in their start, second 0 of its clock in local time.
bool never_began(const json& test) {
  const std::string start = text_at(test, "timestamp");
  return text_at(test, "result") == "COMPLETED" &&
         (start.starts_with("1970-01-01T") || start.starts_with("1969-12-31T"));
}

}  // namespace

std::optional<GtestResult> read_gtest_result(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  const json report = json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object() || !report.contains("testsuites")) return std::nullopt;

  GtestResult result;
  int skipped = 0;
  for (const auto& suite : array_of(report, "testsuites")) {
    add_failures(suite, result.failures);
    for (const auto& test : array_of(suite, "testsuite")) {
      add_failures(test, result.failures);
      if (text_at(test, "status") != "RUN") continue;
      ++result.ran;
      if (text_at(test, "result") == "SKIPPED" || never_began(test)) ++skipped;
    }
  }
  result.skipped = result.ran > 0 && skipped == result.ran;
  return result;
}

}  // namespace proctor
