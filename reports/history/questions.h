// What people ask a history: what is red and since when, what is flaky, how a case ended run by run, and what a page
// shows beside a run.
//
// Runs are looked at in the order in which they began, those of one branch alone where nothing else is asked: that of
// the newest run. A case is known by its id and its variant (reports/resolve/run_results.h), so that a simulated result
// never stands beside one of hardware.
//
//   since when   The streak of a failing case goes back from its newest result that says something. Runs in which it was
//                not there, or not executed, neither end the streak nor are in it; a pass ends it, and so does a failure
//                that a list expected.
//   flaky        Of the runs in which a case passed or failed, those that disagree: with the other runs of the same
//                commit, as the fewer of them did; or with themselves, for the case failed and then passed. A
//                checkout with changes is of no commit. The share has the bounds of Wilson's score interval (95 %), and
//                nothing is said of a case with fewer than kFewestRuns runs.
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
inline constexpr std::size_t kMostOutcomes = 50;  // of each case

struct HistoryQuestion {
  bool failing = false;
  bool flaky = false;
  bool outcomes = false;
  std::optional<std::string> branch{};  // none: that of the newest run
  bool all_branches = false;
  std::string since{};  // UTC: what was seen from then on; "" everything
  std::string case_glob = "*";
};

std::string to_string(const std::vector<FactChange>& moved);  // "xpu.driver 26.31 -> 26.35, ..."; "" nothing

struct SeenRun : HistoryRun {
  // What moved in the stack against the run of such a variant before it. A fact that one of them does not know has not.
  std::vector<FactChange> stack_changes{};
};

struct SeenOutcome {
  std::size_t run = 0;  // index in HistoryAnswer::runs, and so on
  Verdict verdict{};
  ResultClass result_class = ResultClass::kNotrun;
  bool flaky = false;
  int attempts = 0;
  std::int64_t duration_ms = 0;
  std::string device{};
  std::string cause{};
  std::int64_t cause_number = 0;  // the same for cases of one cause, in all runs; 0: it has none
};

struct FailingCase {
  std::string id{};
  Variant variant{};
  SeenOutcome last{};
  std::size_t since = 0;                // the first run of the streak
  std::optional<std::size_t> passed{};  // the run before it in which the case passed
  int runs = 0;                         // in which it failed since
};

struct FlakyCase {
  std::string id{};
  Variant variant{};
  Flakiness flakiness{};
};

struct CaseOutcomes {
  std::string id{};
  Variant variant{};
  std::vector<SeenOutcome> outcomes{};  // newest first
};

struct HistoryAnswer {
  std::optional<std::string> branch{};   // none: all
  std::vector<SeenRun> runs{};           // oldest first
  std::vector<FailingCase> failing{};    // those that failed last first
  std::vector<FlakyCase> flaky{};        // by the lower bound, largest first
  std::vector<CaseOutcomes> outcomes{};  // by id
  std::string no_such_case{};            // of a pattern that fits none: so, and which may have been meant
};

Result<HistoryAnswer> ask(History& history, const HistoryQuestion& question);

// What was before the run, on its branch; where the history has none of it, on that of its newest run.
Result<Past> past_of(History& history, const RunResults& run);

// The newest green run before `run` that had devices of the host, whatever its branch, with what moved in the stack since.
Result<std::optional<SeenRun>> last_green_run(History& history, const RunResults& run,
                                              const std::string& host);

// A run as it was at the commit whose name is so, or begins so and is the only one: that of its newest run, with the
// other shards of the same plan on the same stack. Cases are in the order of their ids.
Result<RunResults> results_at(History& history, const std::string& commit);

// By Wilson's score interval, of 95 %.
Flakiness flakiness_of(int inconsistent_runs, int runs);

// How often attempts failed on each device, over all runs of a history.
struct DeviceHistory {
  std::string host{};
  std::string device{};
  std::string model{};  // in its newest run, as the two below
  std::string last_seen{};
  std::string driver{};  // "" unknown
  std::int64_t runs = 0;
  std::int64_t attempts = 0;  // that passed or failed on it
  std::int64_t failed_attempts = 0;
  std::int64_t drains = 0;  // runs in which it was drained
};

struct DevicesAnswer {
  std::int64_t runs = 0;                 // of the history, in that time
  std::vector<DeviceHistory> devices{};  // by host and device
};

// Of all branches, in the runs that began at `since` (UTC, "" all) or later. Runs that a version of Proctor imported which
// did not keep devices are counted only in DevicesAnswer::runs.
Result<DevicesAnswer> devices_in(History& history, const std::string& since);

}  // namespace proctor
