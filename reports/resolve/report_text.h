// Text that several reports have: the numbers of a run, where a file is, when something was, and the telemetry of an
// attempt. Each is made here alone, so that no two outputs disagree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "harness/base/number_text.h"
#include "harness/journal/events.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// "45 of 2,000 cases failed, with 10 causes, 3 of them new; 2 cases were flaky: failed, then passed"; "" where no case
// failed or was flaky.
std::string failures_text(const ResolvedRun& run);

// The verdict of a shell's exit code, which a lost report or CTest may have changed, and what follows it:
// "FAILED: 3 of 4 cases failed, with 2 causes".
RunVerdict verdict_of(const ResolvedRun& run, int shell_code);
std::string verdict_text(const ResolvedRun& run, int shell_code);

// As which of these the tables of reports count a case: "passed", "failed", "flaky", "known", "skipped", "notrun".
std::string_view counted_as(const ResolvedCase& test);
// "2,000 planned: 1,953 passed, 45 failed, 2 not run".
std::string outcomes_text(const ResolvedRun& run);

// "1 of 3 planned cases executed, at least 2 required"; "" where enough were executed.
std::string shortage_text(const ResolvedRun& run);

// A source file as tools beside the checkout know it; "" where it lies elsewhere, or nobody knows.
std::string below_checkout(const RunPlanned& plan, const std::string& file);

// "2026-01-31T12:00:00Z", a moment that there is, and nothing else.
bool is_utc_stamp(std::string_view text);
// As many parts as `run --shard` makes of a plan; a journal that says more is not valid.
inline constexpr int kMostShardsOfAPlan = 10'000;
// Whether it is one of so many.
bool is_shard_number(const PlannedShard& shard);

// In milliseconds since 1970; 0 for what is no such stamp.
std::int64_t unix_ms(const std::string& utc);

// "xpu:0000:03:00.0: memory up to 1.2 GiB, 97 % busy, 71 C, 280 W, held back by thermal_limit; host: 3.1 s
// CPU, 512 MiB"; what is not known is left out, "" when nothing is.
std::string telemetry_text(const TelemetryInfo& telemetry);

// ---- Long text made short ----
// The input is clean (base/text.h) and the output stays so:
// nothing is cut inside a character.

// The beginning on one line (runs of white space become one blank), at most `limit` bytes, "..." included
// when something is missing.
std::string one_line(std::string_view text, std::size_t limit);

// Keeps the beginning and the end on one line. The end is twice as long, because quoted output ends with the reason.
std::string both_ends(std::string_view text, std::size_t limit);

// The beginning with its lines, at most `limit` bytes, "..." included when something is missing.
std::string truncate(std::string_view text, std::size_t limit);

// Returns "a, b and 3 more": the texts of the first `most` items.
template <typename Items, typename TextOf = std::identity>
std::string some_of(const Items& items, std::size_t most, const TextOf& text_of = {}) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& item : items) {
    if (shown == most) return text + " and " + thousands(items.size() - most) + " more";
    text += shown++ == 0 ? "" : ", ";
    text += text_of(item);
  }
  return text;
}

inline constexpr std::size_t kShownHeadBytes = 16 * 1024;
inline constexpr std::size_t kShownTailBytes = 48 * 1024;

// The first 16 KiB and the last 48 KiB, with the number of bytes between them; short text unchanged.
std::string elide_middle(std::string_view text);

// The part of a gate's headline after the verdict: "4 of 4 cells", "1 of 4 cells", "2 rules of all runs".
std::string gate_details(std::size_t cells, std::size_t failed_cells, std::size_t failed_rules);

}  // namespace proctor
