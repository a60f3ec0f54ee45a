#include "reports/resolve/run_text.h"

#include <fmt/format.h>

#include "harness/base/number_text.h"

namespace proctor {

std::string failures_text(const ResolvedRun& run) {
  const auto& [failed, flaky, causes, fresh] = run.failures;
  std::string text;
  if (failed > 0) {
    text = fmt::format("{} of {} failed, with {}", thousands(failed),
                       count_text(run.summary.planned(), "case"), count_text(causes, "cause"));
    if (fresh > 0) text += fmt::format(", {} of them new", thousands(fresh));
  }
  if (flaky > 0) {
    text += fmt::format("{}{} {} flaky: failed, then passed", text.empty() ? "" : "; ",
                        count_text(flaky, "case"), plural(flaky, "was", "were"));
  }
  return text;
}

std::string outcomes_text(const Summary& summary) {
  std::string text = thousands(summary.planned()) + " planned";
  std::string_view before = ": ";
  for (const Outcome outcome : kAllOutcomes) {
    if (summary[outcome] == 0) continue;
    text += fmt::format("{}{} {}", before, thousands(summary[outcome]), to_string(outcome));
    before = ", ";
  }
  return text;
}

std::string shortage_text(const ResolvedRun& run) {
  const int executed = run.summary.executed();
  if (executed >= run.least_executed) return "";
  return fmt::format("{} of {} executed, at least {} wanted", thousands(executed),
                     count_text(run.summary.planned(), "planned case"), thousands(run.least_executed));
}

}  // namespace proctor
