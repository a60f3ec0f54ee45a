// The parts of a run that only `proctor accept` has: its request, its plan, and its judgement of the devices. The steps
// of run.cc call them. The rules of the judgement are in reports/accept.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/health/drained.h"
#include "harness/request/run_request.h"
#include "harness/runner/checked.h"
#include "harness/runner/display.h"
#include "harness/runner/plan_step.h"
#include "harness/runner/prepared.h"
#include "reports/accept/accept_report.h"
#include "reports/accept/judge_acceptance.h"

namespace proctor::runner {

// Returns the level of the request, or the default level.
int accept_level_of(const AcceptRequest& accept);
// Returns the steps of the level that fit into the budget.
ChosenSteps steps_of(const AcceptRequest& accept);

// Returns the command line that repeats this acceptance, as words. The caller can append `--devices`.
std::vector<std::string> describe_acceptance(const RunRequest& request);

// Returns the request with the options of `run` that the level implies.
RunRequest with_level(RunRequest request);
// Refuses contradictory options, and reads the file of --expect.
Result<void> check_acceptance(Checked& checked);
// Returns the planned cases of the built-in suites that belong to the steps of this acceptance.
Result<FoundPlan> plan_of_acceptance(const Checked& checked, RunDisplay& display);

// Judges the devices of a run. It reads the facts of the devices before the first case and after the last one.
class Acceptance {
 public:
  // Reads the facts from the management libraries for the first time.
  Acceptance(const Checked& checked, const Prepared& prepared);

  // Reads the facts again, judges the devices, and writes accept.json. The reports are made from this file. --json
  // names a second place for it.
  void judge(const ResolvedRun& run);
  // The report as parsed from accept.json.
  const AcceptReport& report() const { return report_; }
  // Drains devices that failed, if --drain is given. Removes the drain of a device that passes now and that a run
  // drained, unless an acceptance of a higher level drained it. Adds the report and the changed drains to `finish`.
  void settle_devices(RunFinish& finish);

 private:
  FactsOfCards ask();
  void write_files(const std::string& text);
  void use_again(const AcceptedDevice& device, const DrainList& drained, RunFinish& finish) const;
  void drain(const AcceptedDevice& device, const DrainList& drained, RunFinish& finish) const;

  const Checked& checked_;
  const Prepared& prepared_;
  AcceptQuestion question_;
  AcceptReport report_;
  std::vector<Error> problems_;
};

}  // namespace proctor::runner
