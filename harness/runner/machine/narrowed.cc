#include "harness/runner/machine/narrowed.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "harness/base/narrowing_variables.h"
#include "harness/base/secrets.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/frameworks/kind.h"

namespace proctor {
namespace {

constexpr const char* kPythonPath = "PYTHONPATH";
constexpr std::size_t kShown = 200;

// What the caller or the suite says, without what we put before it.
std::string without(const std::string& ours, const std::string& value) {
  if (ours.empty() || !value.starts_with(ours)) return value;
  const std::string rest = value.substr(ours.size());
  return rest.empty() || rest.front() == ':' ? rest.substr(rest.empty() ? 0 : 1) : value;
}

// A value with which it does nothing, as the kind itself sets it so that no other holds.
bool is_harmless(const Kind& kind, const std::string& name, const std::string& value) {
  const auto& filters = kind.traits().caller_filters;
  return std::ranges::find(filters, name) != filters.end() && kind.instead_of(name, value).empty();
}

}  // namespace

std::vector<NarrowingVariable> narrowing_variables(const Suite& suite, const Environment& caller,
                                                   const std::vector<std::string>& child,
                                                   const std::string& our_python_path) {
  std::vector<NarrowingVariable> found;
  for (const std::string& variable : child) {
    const std::string name = variable.substr(0, variable.find('='));
    if (!is_narrowing_variable(name)) continue;
    const auto of_suite = suite.env.find(name);
    const auto of_caller = caller.find(name);
    if (of_suite == suite.env.end() && of_caller == caller.end()) continue;  // a simulation's
    std::string value = of_suite != suite.env.end() ? of_suite->second : of_caller->second;
    if (name == kPythonPath) value = without(our_python_path, value);
    if (!is_narrowing_variable(name, value, suite.kind->name()) || is_harmless(*suite.kind, name, value))
      continue;
    const bool by_caller = of_caller != caller.end() && of_caller->second == value;
    found.push_back({.suite = suite.name,
                     .backend = std::string(to_string(suite.backend)),
                     .name = name,
                     .value = looks_secret(name) ? std::string(kHiddenValue) : value,
                     .by = by_caller ? "caller" : "suite",
                     .told_by = of_suite != suite.env.end() ? std::string(kToldByPlan) : ""});
  }
  return found;
}

std::vector<std::string> describe_narrowing(const std::vector<NarrowingVariable>& variables) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::string>> suites;
  for (const NarrowingVariable& one : variables) suites[{one.name, one.value, one.by}].push_back(one.suite);
  std::vector<std::string> lines;
  for (const auto& [variable, names] : suites) {
    const auto& [name, value, by] = variable;
    const std::string cut = value.size() > kShown ? value.substr(0, kShown) + "..." : value;
    lines.push_back(fmt::format("  variable     {}={} ({}) may change what {} runs, or how it judges", name,
                                shell_quote(cut), by, joined(names, ", ")));
  }
  return lines;
}

}  // namespace proctor
