// A run as its journal tells it, compared with what its runner wrote where that is known on this machine.
#pragma once

#include <functional>
#include <string>

#include "harness/core/result.h"
#include "reports/model/run_model.h"
#include "reports/model/run_results.h"

namespace proctor::cli {

Result<RunModel> load_run(const std::string& run_dir);

// Whether it is a file that `proctor run` leaves beside the journal of a run, by its name: who has report.json has the run.
// Any other file may be another runner's, wherever it lies.
bool is_report_of_run(const std::string& place);

// Of a run directory, or of a report in one; whatever else it is, it is the place itself.
Result<std::string> run_directory_of(const std::string& place);

// These are of a run directory, or of a report in it.
Result<std::string> run_journal_sha256(const std::string& place);
// `look` sees the model, which does not live longer.
Result<RunResults> load_run_results(const std::string& place,
                                    const std::function<void(const RunModel& model)>& look = {});

}  // namespace proctor::cli
