#include "suites/visibility/child_process.h"

#include <chrono>
#include <cstring>

#include "harness/base/temp_dir.h"
#include "suites/main/check.h"
#include "suites/main/second_process.h"
#include "suites/visibility/child.h"

namespace proctor::visibility {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kDeadline{20};

std::vector<std::string> child_environment(const Variables& variables) {
  // Names without a value are removed from the environment.
  std::vector<std::string> changes = child_rules().owned;
  for (const auto& each : {child_rules().defaults, variables}) {
    for (const auto& [name, value] : each) changes.push_back(value ? name + "=" + *value : name);
  }
  return environment_with(changes);
}

std::vector<std::string> describe(const std::string& scratch, const std::vector<std::string>& mode) {
  std::vector<std::string> words = {kChildOption, scratch};
  words.insert(words.end(), mode.begin(), mode.end());
  return words;
}

std::string shown(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    text += value ? name + "='" + *value + "' " : name + " unset ";
  }
  return text.empty() ? "no variables" : text.substr(0, text.size() - 1);
}

}  // namespace

struct Child::State {
  State(const std::vector<std::string>& mode, const Variables& variables)
      : process(describe(scratch.string(), mode), child_environment(variables)) {}

  std::optional<json> parse() const {
    json document = json::parse(said, nullptr, false);
    if (!document.is_object()) return std::nullopt;
    return document;
  }

  TempDir scratch;
  suite::SecondProcess process;
  std::string said;
};

Child::Child(const std::vector<std::string>& mode, const Variables& variables)
    : state_(std::make_unique<State>(mode, variables)) {}

Child::~Child() = default;

std::optional<json> Child::answer() {
  const auto said = state_->process.rest(Clock::now() + kDeadline);
  if (!said) return std::nullopt;
  state_->said = *said;
  return state_->parse();
}

ChildEnd Child::finish() {
  const auto end = state_->process.finish(Clock::now() + kDeadline);
  state_->said += end.rest;
  return {state_->parse(), end.signal, end.exit_code, end.hung};
}

json accept(const ChildEnd& end, const Variables& variables) {
  if (end.hung) suite::fail_because("driver_hang", "no result from a child with " + shown(variables));
  if (end.signal != 0) {
    suite::fail_because(
        "driver_crash:" + std::to_string(end.signal),
        std::string("the driver died of ") + strsignal(end.signal) + " with " + shown(variables));
  }
  if (!end.answer || end.exit_code != 0) {
    suite::fail_because("driver_exit:" + std::to_string(end.exit_code),
                        "the child ended without a result with " + shown(variables));
  }
  if (const auto problem = end.answer->value("problem", ""); !problem.empty()) suite::skip(problem);
  return *end.answer;
}

json query_child(const std::vector<std::string>& mode, const Variables& variables) {
  Child child(mode, variables);
  return accept(child.finish(), variables);
}

Enumeration record(const json& answer, const char* key) {
  auto parsed = parse_enumeration(answer.value(key, json()));
  if (!parsed) suite::fail_because("setup", std::string("the child's result has no record '") + key + "'");
  return *std::move(parsed);
}

Enumeration enumerate(const Variables& variables) {
  return record(query_child({"enumerate"}, variables), "seen");
}

}  // namespace proctor::visibility
