// Loads a run from its journal. If this machine has the runner's own copy of the digest, the journal is compared with
// it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "harness/base/result.h"
#include "harness/runner/record/run_directory.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_results.h"

namespace proctor::cli {

Result<ResolvedRun> load_run(const std::string& run_dir);

// The arguments `CASE [RUN_DIR]` as typed. put_in_order() swaps them if the case is the directory of a run.
struct CaseOfRun {
  std::string case_id;
  std::string run_dir = kLatestRun;
};
Result<void> put_in_order(CaseOfRun& typed);
// Adds both arguments to a command.
void add_case_of_run(CLI::App& command, CaseOfRun& typed, const std::string& about_case);

// Finds a case by its id, or by the part of its id after the suite if that is unique.
Result<const ResolvedCase*> find_case(const ResolvedRun& run, const std::string& id,
                                      const std::string& run_dir);

// Returns whether the file has the name of a report that `proctor run` writes next to the journal. report.json then
// stands for its run. Other files may come from another runner.
bool is_report_of_run(const std::string& place);

// Returns the run directory of a report; for any other place, the place itself.
Result<std::string> run_directory_of(const std::string& place);

// `place` is a run directory or a report in it.
Result<std::string> run_journal_sha256(const std::string& place);
// `examine` receives the run, which is destroyed afterwards.
Result<RunResults> load_run_results(const std::string& place,
                                    const std::function<void(const ResolvedRun& run)>& examine = {});

}  // namespace proctor::cli
