// Texts that several reports share: the numbers of a run, the location of a file, times, and the telemetry of an
// attempt. Each text has only this source, so that all outputs agree.
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

// Returns "45 of 2,000 cases failed, with 10 causes, 3 of them new; 2 cases were flaky: failed, then passed"; "" if no
// case failed or was flaky.
std::string failures_text(const ResolvedRun& run);

// Return the verdict for the exit code that the shell gets, which a lost report or CTest may have changed. The text has
// details after the verdict: "FAILED: 3 of 4 cases failed, with 2 causes".
RunVerdict verdict_of(const ResolvedRun& run, int shell_code);
std::string verdict_text(const ResolvedRun& run, int shell_code);

// Returns the group in which the tables of reports count a case: "passed", "failed",
// "flaky", "known", "skipped", "notrun".
std::string_view counted_as(const ResolvedCase& test);
// Returns "2,000 planned: 1,953 passed, 45 failed, 2 not run".
std::string outcomes_text(const ResolvedRun& run);

// Returns "1 of 3 planned cases executed, at least 2 wanted"; "" if enough cases were executed.
std::string shortage_text(const ResolvedRun& run);

// Returns the path of a source file relative to the checkout; "" if the file is not below it,
// or if the checkout is unknown.
std::string below_checkout(const RunPlanned& plan, const std::string& file);

// Returns whether the text is a valid time of the form "2026-01-31T12:00:00Z".
bool is_utc_stamp(std::string_view text);
// The largest number of shards of `run --shard`. A journal with a larger number is not valid.
inline constexpr int kMostShardsOfAPlan = 10'000;
// Returns whether the index and count of the shard are valid.
bool is_shard_number(const PlannedShard& shard);

// Returns milliseconds since 1970; 0 if the text is not such a time.
std::int64_t unix_ms(const std::string& utc);

// Returns "xpu:0000:03:00.0: memory up to 1.2 GiB, 97 % busy, 71 C, 280 W, held back by thermal_limit; host: 3.1 s CPU,
// 512 MiB". Unknown figures are omitted; "" if all are unknown.
std::string telemetry_text(const TelemetryInfo& telemetry);

// ---- Shortening ----
// The input must be clean text (harness/base/text.h). The output is clean, too: no character is cut.

// Returns the beginning on one line, with white space reduced to single blanks. It has at most `limit` bytes, including
// "..." if text is missing.
std::string one_line(std::string_view text, std::size_t limit);

// Keeps the beginning and the end on one line. The end is twice as long, because quoted output ends with the reason.
std::string both_ends(std::string_view text, std::size_t limit);

// Returns the beginning with its line breaks, at most `limit` bytes, including "..." if text is missing.
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

// Returns the first 16 KiB and the last 48 KiB, with the number of omitted bytes between
// them. Shorter text is unchanged.
std::string elide_middle(std::string_view text);

// Returns the part of a gate's headline after the verdict: "4 of 4 cells", "1 of 4 cells", "2 rules of all runs".
std::string gate_details(std::size_t cells, std::size_t failed_cells, std::size_t failed_rules);

}  // namespace proctor
