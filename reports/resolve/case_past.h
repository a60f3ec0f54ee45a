// The past of the cases of a run, as a history returns it. A page shows the past of all cases. The run records in its
// journal only the past of cases that failed or were flaky (CasePast).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "harness/journal/outcome.h"
#include "harness/journal/outcome_meaning.h"

namespace proctor {

// An earlier run.
struct PastRun {
  std::string run_id{};
  std::string started{};  // UTC
  std::string commit{};   // "": unknown
  std::string branch{};
  // The changes of the stack since the run before it, in one line: "xpu.driver 26.31 -> 26.35"; "" for none.
  std::string stack{};
};

// The result of a case in an earlier run.
struct PastOutcome {
  std::uint32_t run = 0;  // index in Past::runs
  Outcome outcome = Outcome::kNotrun;
  ResultClass result_class = ResultClass::kNotrun;
  bool flaky = false;
  std::int64_t duration_ms = 0;
};

// The share of inconsistent runs of one variant of a case. `runs` counts runs on commits with several runs. A run is
// inconsistent if it disagrees with the other runs of its commit. `low` and `high` are the bounds of the share, from 0
// to 1, by Wilson's score interval of 95 %.
struct Flakiness {
  int runs = 0;
  int inconsistent_runs = 0;
  double low = 0;
  double high = 0;
};

// The earlier runs, and the results of all cases in them.
struct Past {
  std::vector<PastRun> runs{};  // oldest first; without the run itself
  std::vector<std::vector<PastOutcome>>
      cases{};  // by index of RunResults::cases; at most the last 50, oldest first
  std::vector<std::optional<Flakiness>>
      flakiness{};  // by index of RunResults::cases; nothing if there are few runs
};

// Returns whether the case did not fail in any earlier run, or whether the history has runs but none with the case.
bool is_new(const CasePast& past);

// Returns the past of the case with this index in Past::cases.
CasePast case_past(const std::string& id, std::size_t index, const Past& past);

// Returns "NEW: passed in 0123abc", "first failed in 0123abc (3 runs)", "flaky in 3 of 10
// earlier runs, passed in 0123abc".
std::string age_text(const CasePast& past);
// Returns "flaky in 3 of 10 earlier runs"; "" if the case was never flaky.
std::string flaky_text(const CasePast& past);

}  // namespace proctor
