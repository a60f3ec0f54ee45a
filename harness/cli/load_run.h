// A run as its journal tells it, compared with what its runner wrote where that is known on this machine.
#pragma once

#include <functional>
#include <string>

#include "harness/core/result.h"
#include "reports/model/run_model.h"
#include "reports/model/run_results.h"

namespace proctor::cli {

Result<RunModel> load_run(const std::string& run_dir);

// These are of a run directory, or of a file in it: who has its journal.jsonl or report.json has the run.
Result<std::string> run_journal_sha256(const std::string& place);
// `look` sees the model, which does not live longer.
Result<RunResults> load_run_results(const std::string& place,
                                    const std::function<void(const RunModel& model)>& look = {});

}  // namespace proctor::cli
