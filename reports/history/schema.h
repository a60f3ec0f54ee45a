// The tables of a history.
//
//   run           one row a run. journal_sha256 makes its import idempotent. Of what was tested: subject_commit, dirty,
//                 branch, repository, build; null is unknown. `plan` is the digest of the whole plan, also of a shard
//   merged_part   run_id of a merged run and of each of its shards, which are no runs of their own beside it; also of a
//                 merged run whose place another one took, so that the order of imports does not matter
//   stack         the facts of a driver stack, once for all runs that had it, as JSON
//   program       the digest of each suite's program in a run
//   test          the id of a case
//   variant       where a suite ran: stack_name, device_model and simulated make a result another one
//   result        one row for each case of a run, in the order of the runs, so that an import appends.
//                 `outcome` and `standing` are numbers of the tables of that name, `reason` and `cause` may be null
//   cause         cases with one key ended alike;  cause_of_run: in which words, run by run
//   words         of one case in one run, where they are not those of its cause
//   used_device   of each device that a run could use: how many attempts passed or failed on it, and whether it was
//                 drained
//   device reason metric    names that many rows share
//   measure       what a case measured; `position` is its place among the measures of the case. There is no column
//                 for single samples, since no journal has them, nor for the variant, which `result` has
//   run_variant   a summary: how many cases of a variant stood how in a run, and which of them passed or failed (`ran`:
//                 numbers of tests as differences, each in LEB128), so that nobody has to read all results to know in
//                 how many runs a case was
//   outcome_of_case    a view for people with a shell of SQLite's
//
// Indexes, beside those of the keys and of UNIQUE columns: run_by_commit (subject_commit), for history:DB@COMMIT;
// merged_part_by_shard (shard); and result_notable (test, variant, run, standing, flaky) of the rows that failed or are
// flaky, which are few: the others are found by run.
#pragma once

#include <string>

#include "reports/history/database.h"

namespace proctor {

inline constexpr int kApplicationId = 0x50524354;  // "PRCT", as `file` and SQLite's shell show it

inline constexpr int kSchemaVersion = 1;

// The file must have no tables. The caller begins the transaction.
void make_tables(Database& database);

// Returns "" if the file has exactly these tables, indexes and views. A foreign trigger or view would be executed whenever
// the file is read or written.
std::string strange_in(Database& database);

}  // namespace proctor
