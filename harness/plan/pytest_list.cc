#include "harness/plan/pytest_list.h"

#include <fmt/format.h>

#include <limits>

#include "harness/core/child_protocol.h"
#include "harness/core/json.h"
#include "harness/core/json_text.h"
#include "harness/core/text.h"

namespace proctor {

namespace {

using nlohmann::json;

constexpr const char* kPlugin = "proctor_pytest";
constexpr const char* kBatchOption = "--proctor-cases=";

json parse_event(std::string_view line) { return json::parse(line, nullptr, /*allow_exceptions=*/false); }

bool is_event(const json& event, std::string_view name) {
  if (!event.is_object()) return false;
  const auto version = event.find("v");
  const auto type = event.find("event");
  return version != event.end() && *version == child::kProtocolVersion && type != event.end() &&
         *type == name;
}

std::optional<int> first_number(const json& arguments) {
  if (!arguments.is_array() || arguments.empty() || !arguments[0].is_number_integer()) return std::nullopt;
  const auto value = arguments[0].get<std::int64_t>();
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(value);
}

std::vector<std::string> with_plugin(std::vector<std::string> command, std::string option) {
  command.insert(command.end(), {"-p", kPlugin, std::move(option)});
  return command;
}

}  // namespace

Result<PytestTest> parse_pytest_test(std::string_view line) {
  const json event = parse_event(line);
  if (!is_event(event, "case")) {
    return Error::usage(fmt::format("is no event of type \"case\", version {}", child::kProtocolVersion));
  }
  PytestTest test{.nodeid = text_at(event, "case"),
                  .file = text_at(event, "file"),
                  .classname = text_at(event, "classname"),
                  .name = text_at(event, "name"),
                  .markers = {}};
  if (test.nodeid.empty() || test.nodeid != clean_text(test.nodeid)) {
    return Error::usage("has no readable name in \"case\"");
  }
  if (test.name.empty()) return Error::usage("has no \"name\"");
  const auto markers = event.find("markers");
  if (markers == event.end() || !markers->is_object()) return Error::usage("has no object in \"markers\"");
  for (const auto& [name, arguments] : markers->items()) test.markers[name] = first_number(arguments);
  return test;
}

std::vector<std::string> pytest_list_failures(const std::vector<std::string>& lines) {
  std::vector<std::string> messages;
  for (const auto& line : lines) {
    if (const json event = parse_event(line); is_event(event, "fail"))
      messages.push_back(text_at(event, "message"));
  }
  return messages;
}

std::vector<std::string> pytest_list_command(std::vector<std::string> command) {
  return with_plugin(std::move(command), child::kListOption);
}

std::vector<std::string> pytest_case_command(std::vector<std::string> command, const std::string& nodeid) {
  return with_plugin(std::move(command), child::kCaseOption + nodeid);
}

std::vector<std::string> pytest_batch_command(std::vector<std::string> case_command,
                                              const std::string& file) {
  case_command.back() = kBatchOption + file;
  return case_command;
}

}  // namespace proctor
