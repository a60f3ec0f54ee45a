// Reads runs from the tables of a history (reports/history/database.h). Errors are thrown as SqliteFailure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reports/history/database.h"
#include "reports/resolve/run_results.h"

namespace proctor {

// A run without its results. `id` and `stack` are row numbers that are valid in this file only.
struct HistoryRun {
  std::int64_t id = 0;
  std::string run_id{};
  std::string journal_sha256{};
  std::string started{};
  std::string commit{};  // "" unknown
  bool dirty = false;    // the sources differed from the commit
  std::string branch{};  // "" unknown
  std::string plan{};
  std::int64_t stack = 0;
};

std::vector<HistoryRun> read_runs(Database& database);  // oldest first
HistoryRun read_run(Database& database, std::int64_t id);

std::vector<StackFact> read_stack(Database& database, std::int64_t stack);

// Variants by their row numbers, which may have gaps.
using Variants = std::map<std::int64_t, Variant>;
Variants read_variants(Database& database);
std::vector<std::pair<std::uint32_t, std::string>> read_case_ids(
    Database& database);  // ordered by row number

// Reads all results of a run, with the cases in the order of their ids. The caller sets `place`.
RunResults read_results(Database& database, const HistoryRun& run);

// Converts a number of the file. A number without a meaning is thrown as damage.
Outcome outcome_in(std::int64_t number);
ResultClass result_class_in(std::int64_t number);

// The row of a variant in the table run_variant (reports/history/database.h).
struct VariantSummary {
  std::array<std::int64_t, 4> by_result_class{};
  std::int64_t flaky = 0;
  std::vector<std::uint32_t> ran{};

  friend bool operator==(const VariantSummary&, const VariantSummary&) = default;
};
using VariantSummaries = std::map<std::int64_t, VariantSummary>;  // by variant; only variants with cases
VariantSummaries stored_summaries(Database& database, std::int64_t run);
VariantSummaries counted_summaries(Database& database, std::int64_t run);  // computed from the results

// Encode and decode the numbers of tests in run_variant.ran.
std::string packed(const std::vector<std::uint32_t>& sorted);
std::vector<std::uint32_t> unpacked(std::string_view bytes);

}  // namespace proctor
