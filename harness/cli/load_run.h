// A run as its journal tells it, compared with what its runner wrote where that is known on this machine.
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

// `CASE [RUN_DIR]` as typed. If the case is the directory of a run, the two were typed in the other order.
struct CaseOfRun {
  std::string case_id;
  std::string run_dir = kLatestRun;
};
Result<void> put_in_order(CaseOfRun& typed);
// The two as arguments of a command.
void add_case_of_run(CLI::App& command, CaseOfRun& typed, const std::string& about_case);

// By its id, or by what follows the suite in it, where one case has that.
Result<const ResolvedCase*> find_case(const ResolvedRun& run, const std::string& id,
                                      const std::string& run_dir);

// Whether it is a file that `proctor run` leaves beside the journal of a run, by its name: who has report.json has the run.
// Any other file may be another runner's, wherever it lies.
bool is_report_of_run(const std::string& place);

// Of a run directory, or of a report in one; whatever else it is, it is the place itself.
Result<std::string> run_directory_of(const std::string& place);

// These are of a run directory, or of a report in it.
Result<std::string> run_journal_sha256(const std::string& place);
// `look` sees the run, which does not live longer.
Result<RunResults> load_run_results(const std::string& place,
                                    const std::function<void(const ResolvedRun& run)>& examine = {});

}  // namespace proctor::cli
