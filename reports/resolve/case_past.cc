#include "reports/resolve/case_past.h"

#include <fmt/core.h>

#include "harness/base/number_text.h"
#include "harness/base/text.h"

namespace proctor {
namespace {

std::string name_of(const PastRun& run) {
  constexpr std::size_t kCommitDigits = 12;
  return run.commit.empty() ? run.run_id : run.commit.substr(0, kCommitDigits);
}

}  // namespace

bool is_new(const CasePast& past) { return past.failing_runs == 0 && past.flaky_runs == 0; }

CasePast case_past(const std::string& id, std::size_t index, const Past& past) {
  const std::vector<PastOutcome> outcomes =
      index < past.cases.size() ? past.cases[index] : std::vector<PastOutcome>();
  CasePast said;
  said.case_id = id;
  bool is_streak = true;
  for (auto outcome = outcomes.rbegin(); outcome != outcomes.rend(); ++outcome) {
    if (outcome->result_class == ResultClass::kNotrun) continue;
    const bool passed = outcome->result_class == ResultClass::kPassing;
    ++said.runs;
    if (passed && said.passed.empty()) said.passed = name_of(past.runs[outcome->run]);
    is_streak =
        is_streak && outcome->result_class == ResultClass::kFailing;  // a known failure ends the streak
    if (!is_streak) {
      said.flaky_runs += !passed || outcome->flaky ? 1 : 0;
      continue;
    }
    ++said.failing_runs;
    said.since = name_of(past.runs[outcome->run]);
  }
  return said;
}

std::string age_text(const CasePast& past) {
  const std::string passed = past.passed.empty() ? "" : "passed in " + clean_text(past.passed);
  if (is_new(past)) return passed.empty() ? "NEW" : "NEW: " + passed;
  if (past.failing_runs == 0) return flaky_text(past) + (passed.empty() ? "" : ", " + passed);
  const auto runs = static_cast<std::size_t>(past.failing_runs) + 1;  // including this run
  return fmt::format("first failed in {} ({})", clean_text(past.since), count_text(runs, "run"));
}

std::string flaky_text(const CasePast& past) {
  if (past.flaky_runs == 0) return "";
  return fmt::format("flaky in {} of {}", past.flaky_runs,
                     count_text(static_cast<std::size_t>(past.runs), "earlier run"));
}

}  // namespace proctor
