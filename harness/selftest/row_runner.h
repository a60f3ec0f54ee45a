// Runs the rows of a self-test, several at once, each case in a contained process of its own with its own
// ledger, fault and fault log.
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
  // The environment of a case that shares `session` with nobody, as NAME=VALUE. If the case has ranks, it is
  // that of rank `rank`; otherwise `rank` is 0.
  std::function<Result<std::vector<std::string>>(const Case&, const SimSession& session, int rank)>
      environment;
  std::string rank_supervisor;  // as RunnerSetup has it
  std::string out;              // absolute; logs go to its logs/
  int jobs = 1;
  // Called as each row ends, in that order. May be empty.
  std::function<void(const SelftestRow&, const SelftestResult&)> on_result;
};

// One result per row, in the order of the rows. If the machine cannot run a row, its result is
// error(selftest:...).
std::vector<SelftestResult> run_rows(const RowRunnerSetup& setup, const std::vector<SelftestRow>& rows);

}  // namespace proctor
