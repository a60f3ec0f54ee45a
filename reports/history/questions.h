// Questions to a history: which cases fail and since when, which are flaky, how a case ended in each run, and the past
// that a page shows with a run. `proctor history` and the page call these functions. They never change the file.
//
// Runs are ordered by the time at which they began. By default, only the runs of the newest run's branch count. A case
// is identified by its id and its variant (reports/resolve/run_results.h), so a simulated result is never compared with
// one of hardware.
//
//   since when   The streak of a failing case goes back from its newest result that is not notrun. Runs without the case,
//                or in which it was not executed, neither end the streak nor count in it. A pass ends it, and so does a
//                known failure.
//   flaky        The runs in which a case passed or failed are counted. A run is inconsistent if it disagrees with the
//                majority of the runs of the same commit, or if the case failed and then passed in it. A checkout with
//                changes belongs to no commit. The share has the bounds of Wilson's score interval (95 %). Cases with
//                fewer than kFewestRuns runs are not reported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/history/history.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/run_results.h"

namespace proctor {

inline constexpr int kFewestRuns = 10;
inline constexpr std::size_t kMostOutcomes = 50;  // for each case

// The parts of an answer that are requested, and the runs and cases that count.
struct HistoryQuestion {
  bool failing = false;
  bool flaky = false;
  bool outcomes = false;
  std::optional<std::string> branch{};  // nothing: the branch of the newest run
  bool all_branches = false;
  std::string since{};  // UTC: the earliest start of the runs that count; "" all runs
  std::string case_glob = "*";
};

std::string to_string(
    const std::vector<FactChange>& moved);  // "xpu.driver 26.31 -> 26.35, ..."; "" for no changes

// A run with its changes of the stack.
struct SeenRun : HistoryRun {
  // The facts of the stack that changed since the previous run with the same variant. A fact that is unknown in one of
  // the two runs has not changed.
  std::vector<FactChange> stack_changes{};
};

// The result of a case in one run.
struct SeenOutcome {
  std::size_t run = 0;  // index in HistoryAnswer::runs; all run indexes below are the same
  Verdict verdict{};
  ResultClass result_class = ResultClass::kNotrun;
  bool flaky = false;
  int attempts = 0;
  std::int64_t duration_ms = 0;
  std::string device{};
  std::string cause{};
  std::int64_t cause_number =
      0;  // equal for cases with the same cause, in all runs; 0: the case has no cause
};

// A case whose newest result is a failure.
struct FailingCase {
  std::string id{};
  Variant variant{};
  SeenOutcome last{};
  std::size_t since = 0;                // the first run of the streak
  std::optional<std::size_t> passed{};  // the last run before the streak in which the case passed
  int runs = 0;                         // the number of runs of the streak in which the case failed
};

// A case with inconsistent runs.
struct FlakyCase {
  std::string id{};
  Variant variant{};
  Flakiness flakiness{};
};

// The results of a case in all runs, at most kMostOutcomes.
struct CaseOutcomes {
  std::string id{};
  Variant variant{};
  std::vector<SeenOutcome> outcomes{};  // newest first
};

// The answer to a HistoryQuestion.
struct HistoryAnswer {
  std::optional<std::string> branch{};   // nothing: all branches
  std::vector<SeenRun> runs{};           // oldest first
  std::vector<FailingCase> failing{};    // by the run of their newest failure, newest first
  std::vector<FlakyCase> flaky{};        // by the lower bound, largest first
  std::vector<CaseOutcomes> outcomes{};  // by id
  std::string no_such_case{};  // the error for a pattern that matches no case, with the nearest case id
};

Result<HistoryAnswer> ask(History& history, const HistoryQuestion& question);

// Returns the earlier outcomes of the run's cases on its branch. If the history has no run of this branch, it uses the
// branch of its newest run.
Result<Past> past_of(History& history, const RunResults& run);

// Returns the newest passed run before `run` on any branch that could use devices of the host, with the changes of the
// stack between it and `run`.
Result<std::optional<SeenRun>> last_green_run(History& history, const RunResults& run,
                                              const std::string& host);

// Returns the run of the commit with this name or unique prefix. It is the newest run of this commit, joined with the
// other shards of the same plan on the same stack. Its cases are in the order of their ids.
Result<RunResults> results_at(History& history, const std::string& commit);

// Computes the share of inconsistent runs, with the bounds of Wilson's score interval (95 %).
Flakiness flakiness_of(int inconsistent_runs, int runs);

// How often attempts failed on one device, over all runs of a history.
struct DeviceHistory {
  std::string host{};
  std::string device{};
  std::string model{};  // in its newest run, like the two members below
  std::string last_seen{};
  std::string driver{};  // "" unknown
  std::int64_t runs = 0;
  std::int64_t attempts = 0;  // the attempts that passed or failed on it
  std::int64_t failed_attempts = 0;
  std::int64_t drains = 0;  // the number of runs in which it was drained
};

// The failure counts of all devices.
struct DevicesAnswer {
  std::int64_t runs = 0;                 // the number of runs of the history in that time
  std::vector<DeviceHistory> devices{};  // by host and device
};

// Counts the runs of all branches that began at `since` (UTC, "" all) or later. Early versions of Proctor imported runs
// without devices. Such runs count only in DevicesAnswer::runs.
Result<DevicesAnswer> devices_in(History& history, const std::string& since);

}  // namespace proctor
