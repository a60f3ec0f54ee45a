#include "harness/plan/suite_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/plan/suite_settings.h"

namespace proctor {
namespace {

bool counts_for(const SuiteSetting& setting, const Suite& suite, const std::string& text = {}) {
  return setting.counts == nullptr || setting.counts(suite, text);
}

Error no_effect(const SuiteOption& option, const std::string& text) {
  return Error::refused(fmt::format("{} {} has no effect: {}", option.name, text, option.no_suite),
                        option.hint);
}

// Calls `use` with each typed text, and stops at the first error.
template <typename Use>
Result<void> for_each_typed(const SelectionOptions& typed, const Use& use) {
  for (const SuiteSetting& setting : suite_settings()) {
    if (setting.option.typed == nullptr) continue;
    for (const std::string& text : setting.option.typed(typed)) {
      if (Result<void> used = use(setting, text); !used) return used;
    }
  }
  return {};
}

Result<void> apply_option(const SuiteSetting& setting, const std::string& text,
                          std::vector<SuiteConfig>& suites) {
  bool used = false;
  for (SuiteConfig& config : suites) {
    if (!counts_for(setting, config.suite, text)) continue;
    if (auto put = setting.option.put(text, config.suite); !put) return put;
    used = true;
  }
  if (used) return {};
  Suite none;
  if (auto put = setting.option.put(text, none); !put) return put;  // an invalid text is reported first
  return no_effect(setting.option, text);
}

}  // namespace

Result<void> settle_unused_settings(const std::string& where, SuiteConfig& config) {
  for (const SuiteSetting& setting : suite_settings()) {
    if (setting.hint_if_unused.empty() || counts_for(setting, config.suite)) continue;
    bool is_given = false;
    with_member(setting, [&](auto member) {
      is_given = config.suite.*member != Suite{}.*member;
      if (config.built_in) config.suite.*member = Suite{}.*member;
    });
    if (is_given && !config.built_in)
      return Error::refused(fmt::format("{} has a `{}`, but its backend is \"{}\"", where, setting.key,
                                        to_string(config.suite.backend)),
                            setting.hint_if_unused);
  }
  return {};
}

Result<void> apply_suite_options(const SelectionOptions& typed, std::vector<SuiteConfig>& suites) {
  return for_each_typed(typed, [&](const SuiteSetting& setting, const std::string& text) {
    return apply_option(setting, text, suites);
  });
}

Result<void> apply_suite_options(const SelectionOptions& typed, Suite& command) {
  return for_each_typed(typed, [&](const SuiteSetting& setting, const std::string& text) {
    return setting.option.put(text, command);
  });
}

Result<void> check_suite_options(const SelectionOptions& typed, const std::vector<Suite>& suites) {
  return for_each_typed(typed, [&](const SuiteSetting& setting, const std::string& text) -> Result<void> {
    const auto uses = [&](const Suite& suite) {
      return suite.backend != Backend::kNone && counts_for(setting, suite, text);
    };
    if (!setting.option.judged_last || std::ranges::any_of(suites, uses)) return {};
    return no_effect(setting.option, text);
  });
}

Result<void> check_suite_options(const SelectionOptions& typed, const Suite& command) {
  return for_each_typed(typed, [&](const SuiteSetting& setting, const std::string& text) -> Result<void> {
    const auto check = setting.option.check_command;
    return check == nullptr ? Result<void>() : check(setting.option.name + " " + text, text, command);
  });
}

}  // namespace proctor
