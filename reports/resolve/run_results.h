// A run as it is remembered when its logs are gone: what it was of, and for each case how it ended and why. A comparison,
// a history and a page of several runs read it; a journal gives it, and so do a history and a JUnit file of somebody else.
//
// Results of two runs are compared when they are of one variant of one case. That a result was simulated is a part of the
// variant, so a simulated one never stands beside one of hardware.
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

// Cases with equal keys ended alike (cause_key()). The text is the headline of the first of them.
struct Cause {
  std::string key{};
  std::string text{};
};

struct CaseResult {
  std::string id{};
  std::uint32_t variant = 0;       // index in RunResults::variants
  std::uint32_t cause = kNoCause;  // index in RunResults::causes; of what passed at once, none
  std::string text{};              // its own headline; "": it is that of the cause
  Verdict verdict{};
  ResultClass result_class = ResultClass::kNotrun;
  int attempts = 0;
  bool flaky = false;  // failed and then passed, and no device is at fault
  std::int64_t duration_ms = 0;
  std::string device{};  // that of the attempt which tells most; several are joined by '+'
  std::vector<Measure> measures{};
};

// The content of the program that a suite started.
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
  int attempts = 0;  // that passed or failed on it
  int failed_attempts = 0;
  bool drained = false;  // in this run
};

struct RunResults {
  std::string place{};  // for messages: as the user named it
  std::string run_id{};
  std::string journal_sha256{};      // "": it is not of a journal
  std::string started{};             // UTC, 2026-01-31T12:00:00Z
  std::vector<std::string> parts{};  // of a merged run: the ids of its shards
  Subject subject{};
  std::string plan_digest{};
  std::vector<StackFact> stack{};  // each name once: of the machine, of its drivers, and of a simulation
  std::vector<TestedProgram> programs{};
  std::vector<UsedDevice> devices{};
  int exit_code = 0;
  RunVerdict verdict = RunVerdict::kIncomplete;
  bool simulated = false;
  bool complete = false;  // its runner has said all
  std::vector<Variant> variants{};
  std::vector<Cause> causes{};
  std::vector<CaseResult> cases{};  // in the order of the plan; an id is there once
};

// In words how a case ended; "" for what passed at once. Cases of one cause differ in numbers.
std::string describe(const RunResults& results, const CaseResult& result);
// Sets the cause of a case, one of the results, and its text.
void set_cause(const RunResults& results, std::uint32_t cause, std::string text, CaseResult& result);

// `place`, `journal_sha256` are left for who knows them.
RunResults results_of(const ResolvedRun& run);

// None: the layer does not exist.
struct FactChange {
  std::string name{};
  std::optional<std::string> before{};
  std::optional<std::string> after{};
};

// The facts that both know and that differ, by name. One without a value is known only if its layer does not exist.
std::vector<FactChange> moved_facts(const std::vector<StackFact>& before,
                                    const std::vector<StackFact>& after);

// The SHA-256 of a journal's bytes, by which a history knows it.
Result<std::string> journal_sha256(const std::filesystem::path& journal);

// How long the cases of a run took, from its journal alone and without making a ResolvedRun of it: a run reads this of
// earlier ones before its first case starts.

// What may still be read. Several journals share it. The beginning of each is read after this time, too, so that a busy
// machine finds the same in small ones.
struct ReadingLimit {
  std::size_t bytes = std::size_t{64} << 20;
  std::chrono::steady_clock::time_point until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(250);
};

// In ms, by the id of the case: the sum of its attempts, except those that were skipped or not run. Of a journal that
// is torn, foreign or longer than the limit, what can be read; of one that cannot be opened, nothing.
std::map<std::string, double> journal_durations(const std::string& path, ReadingLimit& limit);

}  // namespace proctor
