// Runs the rows of a self-test, several at once. Each case runs in its own contained process, with its own ledger,
// fault and fault log.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/simulation.h"
#include "harness/plan/plan.h"
#include "harness/selftest/matrix.h"
#include "harness/selftest/selftest_summary.h"

namespace proctor {

class Containment;
class ScratchRoot;

struct RowRunnerSetup {
  const Plan* plan = nullptr;
  Containment* containment = nullptr;
  ScratchRoot* scratch = nullptr;
  // Returns the environment of a case as NAME=VALUE. The case is the only user of `session`. If it has ranks, the
  // environment is that of rank `rank`; otherwise `rank` is 0.
  std::function<Result<std::vector<std::string>>(const Case&, const SimSession& session, int rank)>
      environment;
  std::string rank_supervisor;  // the same as in RunnerSetup
  std::string out;              // absolute; logs are written to its subdirectory logs/
  int jobs = 1;
  // Called when a row ends, in the order of the ends. May be empty.
  std::function<void(const SelftestRow&, const SelftestResult&)> on_result;
};

// Returns one result per row, in the order of the rows. If the machine cannot run a row, its result is
// error(selftest:...).
std::vector<SelftestResult> run_rows(const RowRunnerSetup& setup, const std::vector<SelftestRow>& rows);

}  // namespace proctor
