#include "harness/runner/history_of_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "harness/journal/outcome_meaning.h"
#include "reports/history/questions.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_results.h"

namespace proctor::runner {
namespace {

// Returns whether the file is missing or empty.
bool is_new(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return !error;
  return std::filesystem::is_regular_file(file, error) && std::filesystem::file_size(file, error) == 0;
}

std::string name_of(const SeenRun& run) {
  constexpr std::size_t kCommitDigits = 12;
  const std::string commit = run.commit.substr(0, kCommitDigits);
  return fmt::format("{}, {}{}", run.run_id, run.started, commit.empty() ? "" : ", commit " + commit);
}

// Reports changes of the stack since the last passed run, if this run did not pass.
Result<void> report_stack(History& history, const ResolvedRun& run, const RunResults& results,
                          EventSink& events) {
  if (run.exit_code_so_far == kExitGreen && run.ending_signal == 0) return {};
  const auto green = last_green_run(history, results, run.plan.hostname);
  if (!green) return green.error();
  if (!*green || (*green)->stack_changes.empty()) return {};
  events.on(
      Warning{WarningCode::kStackChangedSincePass,
              fmt::format("the driver stack changed since the last run of this machine that passed ({}): {}",
                          name_of(**green), to_string((*green)->stack_changes))});
  return {};
}

// Returns the past results of the cases that failed or were flaky.
std::vector<CasePast> case_pasts(const RunResults& results, const Past& past) {
  std::vector<CasePast> pasts;
  if (past.runs.empty()) return pasts;
  for (std::size_t i = 0; i < results.cases.size(); ++i) {
    const CaseResult& result = results.cases[i];
    if (result.result_class != ResultClass::kFailing && !result.flaky) continue;
    pasts.push_back(case_past(result.id, i, past));
  }
  return pasts;
}

Result<void> report_all(History& history, const ResolvedRun& run, EventSink& events) {
  const RunResults results = results_of(run);
  const auto past = past_of(history, results);
  if (!past) return past.error();
  for (CasePast& known : case_pasts(results, *past)) events.on(std::move(known));
  return report_stack(history, run, results, events);
}

}  // namespace

Result<std::shared_ptr<History>> open_history(const std::string& file) {
  if (file.empty() || is_new(file)) return std::shared_ptr<History>();
  auto history = History::open_to_read(file, kHistoryWait);
  if (!history) return history.error();
  return std::make_shared<History>(*std::move(history));
}

void HistoryOfRun::report_past(RunMemory& memory, Milliseconds wait, EventSink& events) {
  if (file_.empty()) return;
  if (records_) {
    auto opened = History::open(file_, wait);
    if (opened) {
      to_record_ = *std::move(opened);
    } else {
      events.on(Warning{WarningCode::kHistory, "the run is not recorded: " + opened.error().message()});
    }
  }
  if (is_new(file_)) return;
  const auto report_value = [&]() -> Result<void> {
    if (to_record_) return report_all(*to_record_, memory.resolve(), events);
    auto opened = History::open_to_read(file_, wait);
    return opened ? report_all(*opened, memory.resolve(), events) : opened.error();
  };
  if (const auto reported = report_value(); !reported)
    events.on(Warning{WarningCode::kHistory, "no failure is marked as new: " + reported.error().message()});
}

Result<void> HistoryOfRun::record(const ResolvedRun& run, const std::string& journal_sha256) {
  return to_record_ ? record_run(*to_record_, run, journal_sha256) : Result<void>();
}

Result<void> record_run(History& history, const ResolvedRun& run, const std::string& journal_sha256) {
  return history.change([&]() -> Result<void> {
    RunResults results = results_of(run);
    results.place = "run " + results.run_id;
    results.journal_sha256 = journal_sha256;
    const auto added = history.add(results);
    return added ? Result<void>() : added.error();
  });
}

}  // namespace proctor::runner
