#include "harness/cli/steps/history_of_run.h"

#include <filesystem>
#include <vector>

#include "reports/history/questions.h"
#include "reports/model/case_past.h"
#include "reports/model/run_results.h"

namespace proctor::cli {
namespace {

bool exists(const std::string& file) {
  std::error_code error;
  return std::filesystem::exists(file, error) || error;
}

Result<Past> read_past(const std::string& file, const RunResults& results) {
  auto history = History::open_to_read(file, kHistoryWait);
  if (!history) return history.error();
  return past_of(*history, results);
}

// Of the cases that failed or were flaky.
std::vector<CasePast> case_pasts(const RunResults& results, const Past& past) {
  std::vector<CasePast> pasts;
  if (past.runs.empty()) return pasts;
  for (std::size_t i = 0; i < results.cases.size(); ++i) {
    const CaseResult& result = results.cases[i];
    if (result.standing != Standing::kFailing && !result.flaky) continue;
    pasts.push_back(case_past(result.id, i, past));
  }
  return pasts;
}

}  // namespace

Result<void> check_history(const std::string& file) {
  if (file.empty() || !exists(file)) return {};
  const auto history = History::open_to_read(file, kHistoryWait);
  return history ? Result<void>() : history.error();
}

void tell_past(const std::string& file, const RunModel& model, EventSink& events) {
  if (file.empty() || !exists(file)) return;
  const RunResults results = results_of(model);
  const auto past = read_past(file, results);
  if (!past) {
    events.on(Warning{WarningCode::kHistory, "no failure is marked as new: " + past.error().message()});
    return;
  }
  for (CasePast& known : case_pasts(results, *past)) events.on(std::move(known));
}

}  // namespace proctor::cli
