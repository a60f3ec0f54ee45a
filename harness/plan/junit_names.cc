#include "harness/plan/junit_names.h"

#include <algorithm>
#include <map>
#include <utility>

#include "harness/frameworks/all_kinds.h"

namespace proctor {
namespace {

// Null where only the program itself could tell.
const Kind* kind_as_configured(const SuiteConfig& config) {
  return config.kind != nullptr ? config.kind : kind_of_command(config.suite.command);
}

// As far as the configuration tells, which is the same whoever of them runs.
bool may_share_names(const SuiteConfig& one, const SuiteConfig& other) {
  const Kind* kind = kind_as_configured(one);
  const Kind* others = kind_as_configured(other);
  if (kind != nullptr && others != nullptr) return kind == others;
  const auto has_its_own = [](const Kind* known) { return known == nullptr || known->traits().classnames; };
  return has_its_own(kind) && has_its_own(others);
}

bool wears_suite_name(const Config& config, const SuiteConfig& suite) {
  if (!suite.junit_classname.empty()) return suite.junit_classname == "suite";
  const auto is_it = [&](const SuiteConfig& other) { return other.suite.name == suite.suite.name; };
  const auto configured = std::ranges::find_if(config.suites, is_it);
  if (configured == config.suites.end()) return false;  // it runs alone
  return std::ranges::any_of(config.suites, [&](const SuiteConfig& other) {
    return !is_it(other) && !other.built_in && may_share_names(*configured, other);
  });
}

void tell_repeated_apart(std::vector<Case>& cases) {
  std::map<std::pair<std::string, std::string>, int> uses;
  for (const Case& test : cases) ++uses[{test.classname, test.name}];
  for (Case& test : cases) {
    if (uses[{test.classname, test.name}] > 1) test.name += " [" + test.id + "]";
  }
}

}  // namespace

void name_for_junit(const Config& config, const SuiteConfig& suite, std::vector<Case>& cases) {
  tell_repeated_apart(cases);
  if (!suite.suite.kind->traits().classnames || !wears_suite_name(config, suite)) return;
  for (Case& test : cases) {
    if (test.classname != suite.suite.name) test.classname = suite.suite.name + "." + test.classname;
  }
}

}  // namespace proctor
