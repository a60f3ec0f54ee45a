#include "harness/plan/gtest_batch.h"

#include <algorithm>
#include <string_view>

#include "harness/core/json.h"

namespace proctor {

namespace {

using nlohmann::json;

constexpr std::string_view kFilterOption = "--gtest_filter=";
constexpr std::string_view kFailFastOption = "--gtest_fail_fast";

bool is_announcement(const std::string& line) {
  const json event = json::parse(line, nullptr, /*allow_exceptions=*/false);
  return event.is_object() && event.value("event", json()) == "listener" &&
         event.value("name", json()) == "gtest";
}

}  // namespace

bool announces_gtest_listener(const std::vector<std::string>& event_lines) {
  return std::any_of(event_lines.begin(), event_lines.end(), is_announcement);
}

std::vector<std::string> gtest_batch_command(std::vector<std::string> case_command,
                                             const std::string& flag_file) {
  case_command.back() = "--gtest_flagfile=" + flag_file;
  // Whether others run after a failure, the runner decides. No flag of the file:
  // GoogleTest < 1.11 would refuse it.
  std::erase_if(case_command, [](const std::string& word) { return word.starts_with(kFailFastOption); });
  return case_command;
}

std::string gtest_batch_flags(const std::vector<std::vector<std::string>>& case_commands) {
  std::string text(kFilterOption);
  for (const auto& command : case_commands) {
    if (!text.ends_with('=')) text += ':';
    text += std::string_view(command.back()).substr(kFilterOption.size());
  }
  // Each case once, and no result file that each process would write over the others'.
  return text + "\n--gtest_repeat=1\n--gtest_output=\n";
}

}  // namespace proctor
