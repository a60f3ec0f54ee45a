// The results of a run without its logs: the tested subject, and the outcome and cause of each case. Comparison,
// history and the page of several runs read them. They are made from a journal, a history, or
// a JUnit file of another runner.
//
// Results of two runs are compared if they have the same case and variant. The variant includes whether a result is
// simulated, so a simulated result is never compared with one of hardware.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// Cases with equal keys have the same failure (cause_key()). The text is the headline of the first of them.
struct Cause {
  std::string key{};
  std::string text{};
};

// The result of one case.
struct CaseResult {
  std::string id{};
  std::uint32_t variant = 0;       // index in RunResults::variants
  std::uint32_t cause = kNoCause;  // index in RunResults::causes; kNoCause for a plain pass
  std::string text{};              // its own headline; "": the text of its cause
  Verdict verdict{};
  ResultClass result_class = ResultClass::kNotrun;
  int attempts = 0;
  bool flaky = false;  // failed and then passed, and no device is at fault
  std::int64_t duration_ms = 0;
  std::string device{};  // the devices of the most informative attempt, joined by '+'
  std::vector<Measure> measures{};
};

// The digest of the program that a suite started.
struct TestedProgram {
  std::string suite{};
  std::string backend{};
  std::string sha256{};  // "": unknown

  friend bool operator==(const TestedProgram&, const TestedProgram&) = default;
};

// A device that the run could use.
struct UsedDevice {
  std::string id{};
  std::string host{};
  std::string model{};
  int attempts = 0;  // attempts on it that passed or failed
  int failed_attempts = 0;
  bool drained = false;  // in this run
};

// The results of one run.
struct RunResults {
  std::string place{};  // for messages: the path as the user entered it
  std::string run_id{};
  std::string journal_sha256{};      // "": the results are not from a journal
  std::string started{};             // UTC, 2026-01-31T12:00:00Z
  std::vector<std::string> parts{};  // for a merged run: the ids of its shards
  Subject subject{};
  std::string plan_digest{};
  std::vector<StackFact> stack{};  // facts of the machine, its drivers and a simulation; each name once
  std::vector<TestedProgram> programs{};
  std::vector<UsedDevice> devices{};
  int exit_code = 0;
  RunVerdict verdict = RunVerdict::kIncomplete;
  bool simulated = false;
  bool complete = false;  // its runner finished the journal
  std::vector<Variant> variants{};
  std::vector<Cause> causes{};
  std::vector<CaseResult> cases{};  // in the order of the plan; each id once
};

// Returns the failure text of a case; "" for a plain pass. The texts of cases with one cause differ in numbers.
std::string describe(const RunResults& results, const CaseResult& result);
// Sets the cause of a case in `results`, and its text.
void set_cause(const RunResults& results, std::uint32_t cause, std::string text, CaseResult& result);

// The caller sets `place` and `journal_sha256`.
RunResults results_of(const ResolvedRun& run);

// A changed fact of the stack. A missing value means that the layer does not exist.
struct FactChange {
  std::string name{};
  std::optional<std::string> before{};
  std::optional<std::string> after{};
};

// Returns the facts that are known in both and differ, by name. A fact without a value is known
// only if its layer does not exist.
std::vector<FactChange> moved_facts(const std::vector<StackFact>& before,
                                    const std::vector<StackFact>& after);

// Returns the SHA-256 of a journal's bytes, by which a history identifies it.
Result<std::string> journal_sha256(const std::filesystem::path& journal);

// ---- Durations ----
// A run reads the durations of cases in earlier runs before its first case starts. They come from the journals alone,
// without a ResolvedRun.

// The remaining limit for several journals. The beginning of each journal is read even after the time is over, so that
// a busy machine gets the same result for small journals.
struct ReadingLimit {
  std::size_t bytes = std::size_t{64} << 20;
  std::chrono::steady_clock::time_point until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(250);
};

// Returns the duration of each case in ms by its id: the sum of its attempts, without skipped attempts and those that
// did not run. If a journal is torn, foreign or longer than the limit, the readable part counts. If it cannot be
// opened, the result is empty.
std::map<std::string, double> journal_durations(const std::string& path, ReadingLimit& limit);

}  // namespace proctor
