#include "harness/plan/plan.h"

#include <algorithm>
#include <utility>

#include "harness/base/digest.h"
#include "harness/base/text.h"
#include "harness/plan/suite_settings.h"

namespace proctor {

std::vector<std::string> filters_of(const Plan& plan) {
  std::vector<std::string> filters;
  for (std::size_t i = 0; i < plan.suites.size(); ++i) {
    const bool is_used = std::ranges::any_of(plan.cases, [&](const Case& test) { return test.suite == i; });
    if (!is_used) continue;
    for (const auto& [name, value] : plan.suites[i].filters)
      filters.push_back(clean_text(plan.suites[i].name + " " + name + "=" + value));  // as the journal has it
    for (const SuiteSetting& setting : suite_settings()) {
      const std::string words = setting.in_digest == nullptr ? "" : setting.in_digest(plan.suites[i]);
      if (!words.empty()) filters.push_back(plan.suites[i].name + " " + words);
    }
  }
  return filters;
}

std::string plan_digest(const Plan& plan) {
  std::vector<std::string> ids;
  ids.reserve(plan.cases.size());
  for (const Case& test : plan.cases) ids.push_back(test.id);
  return digest_of_plan(std::move(ids), filters_of(plan));
}

}  // namespace proctor
