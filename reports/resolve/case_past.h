// What a history knows of the cases of a run: of all as a page shows it, and of those that failed or were flaky as the run
// records it in its journal.
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

struct PastRun {
  std::string run_id{};
  std::string started{};  // UTC
  std::string commit{};   // "" unknown
  std::string branch{};
  // What moved in the stack against the run before it, one line: "xpu.driver 26.31 -> 26.35"; "" nothing.
  std::string stack{};
};

struct PastOutcome {
  std::uint32_t run = 0;  // index in Past::runs
  Outcome outcome = Outcome::kNotrun;
  ResultClass result_class = ResultClass::kNotrun;
  bool flaky = false;
  std::int64_t duration_ms = 0;
};

// How many runs of one variant of a case there were on commits that had several, and how many of them disagreed with the
// others of their commit: with the bounds of that share, from 0 to 1, by Wilson's score interval of 95 %.
struct Flakiness {
  int runs = 0;
  int inconsistent_runs = 0;
  double low = 0;
  double high = 0;
};

struct Past {
  std::vector<PastRun> runs{};  // oldest first; without the run itself
  std::vector<std::vector<PastOutcome>>
      cases{};  // by index of RunResults::cases; at most the last 50, oldest first
  std::vector<std::optional<Flakiness>> flakiness{};  // by index of RunResults::cases; nothing of few runs
};

// Whether the case did not fail in any earlier run, or the history has runs but not of the case.
bool is_new(const CasePast& past);

// Of the case with this index in Past::cases.
CasePast case_past(const std::string& id, std::size_t index, const Past& past);

// "NEW: passed in 0123abc", "first failed in 0123abc (3 runs)", "flaky in 3 of 10 earlier runs, passed in 0123abc"
std::string age_text(const CasePast& past);
// "flaky in 3 of 10 earlier runs"; "" if it never was.
std::string flaky_text(const CasePast& past);

}  // namespace proctor
