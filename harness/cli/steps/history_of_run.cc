#include "harness/cli/steps/history_of_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "harness/core/exit_code.h"
#include "reports/history/questions.h"
#include "reports/model/case_past.h"
#include "reports/model/exit_code.h"
#include "reports/model/run_results.h"

namespace proctor::cli {
namespace {

bool exists(const std::string& file) {
  std::error_code error;
  return std::filesystem::exists(file, error) || error;
}

std::string name_of(const GreenRun& run) {
  constexpr std::size_t kCommitDigits = 12;
  const std::string commit = run.commit.substr(0, kCommitDigits);
  return fmt::format("{}, {}{}", run.run_id, run.started, commit.empty() ? "" : ", commit " + commit);
}

// Of a run that is not green.
Result<void> tell_stack(History& history, const RunModel& model, const RunResults& results,
                        EventSink& events) {
  if (shell_exit_code(model) == kExitGreen) return {};
  const auto green = last_green_run(history, results, model.plan().hostname);
  if (!green) return green.error();
  if (!*green || (*green)->moved.empty()) return {};
  events.on(Warning{WarningCode::kStackSinceGreen,
                    fmt::format("the driver stack changed since this machine's last green run ({}): {}",
                                name_of(**green), to_string((*green)->moved))});
  return {};
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

Result<void> tell_all(const std::string& file, const RunModel& model, EventSink& events) {
  const RunResults results = results_of(model);
  auto history = History::open_to_read(file, kHistoryWait);
  if (!history) return history.error();
  const auto past = past_of(*history, results);
  if (!past) return past.error();
  for (CasePast& known : case_pasts(results, *past)) events.on(std::move(known));
  return tell_stack(*history, model, results, events);
}

}  // namespace

Result<std::shared_ptr<History>> open_history(const std::string& file) {
  if (file.empty() || !exists(file)) return std::shared_ptr<History>();
  auto history = History::open_to_read(file, kHistoryWait);
  if (!history) return history.error();
  return std::make_shared<History>(*std::move(history));
}

void tell_past(const std::string& file, const RunModel& model, EventSink& events) {
  if (file.empty() || !exists(file)) return;
  const auto told = tell_all(file, model, events);
  if (!told)
    events.on(Warning{WarningCode::kHistory, "no failure is marked as new: " + told.error().message()});
}

}  // namespace proctor::cli
