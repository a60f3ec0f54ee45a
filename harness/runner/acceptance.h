// The plan of `accept` and its judgement.
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

// The plan of `accept`: cases of the built-in suites that judge the devices of this machine.
int accept_level_of(const AcceptRequest& accept);
// The steps that the level has, and that fit the budget.
ChosenSteps steps_of(const AcceptRequest& accept);

// The words with which `accept` repeats this acceptance; `--devices` may follow.
std::vector<std::string> describe_acceptance(const RunRequest& request);

// Returns the request with the options of `run` for which the level stands.
RunRequest with_level(RunRequest request);
// Refuses contradictions, and reads the expected machine.
Result<void> check_acceptance(Checked& checked);
Result<FoundPlan> plan_of_acceptance(const Checked& checked, RunDisplay& display);

// The judgement of `accept`: the facts of the devices are read before the first case and after the last one.
class Acceptance {
 public:
  // Reads the facts of the management libraries.
  Acceptance(const Checked& checked, const Prepared& prepared);

  // Reads the facts again, judges the devices, and writes accept.json, of which the reports are made. --json names a second
  // place for this file.
  void judge(const ResolvedRun& run);
  // As accept.json has it.
  const AcceptReport& report() const { return report_; }
  // Drains what failed (--drain), and uses again what failed in an earlier acceptance and passes in this one. Adds the
  // report and what was done to `finish`.
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
