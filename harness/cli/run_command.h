// `proctor run`, step by step, and what `proctor exec` changes of it: the plan, what is shown, and the exit
// code of a refusal. The exit code of the run itself is a function of the journal (reports/exit_code.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/commands.h"
#include "harness/cli/console_output.h"
#include "harness/cli/run_devices.h"
#include "harness/cli/run_display.h"
#include "harness/cli/run_options.h"
#include "harness/cli/run_stack.h"
#include "harness/devices/leases/lease.h"
#include "harness/plan/known_failures.h"
#include "harness/plan/planner.h"
#include "harness/plan/shard.h"
#include "harness/run/attempt/case_environment.h"
#include "harness/run/record/journal.h"
#include "harness/run/record/run_record.h"
#include "harness/run/record/scratch.h"
#include "harness/run/schedule/runner.h"

namespace proctor::cli {

class RunCommand {
 public:
  RunCommand(RunOptions options, AfterDashes after_dashes);
  virtual ~RunCommand() = default;
  RunCommand(const RunCommand&) = delete;
  RunCommand& operator=(const RunCommand&) = delete;

  int execute();

 protected:
  virtual int refuse(const Error& error) const;
  virtual Result<PlanOutcome> make_plan();
  virtual std::unique_ptr<RunDisplay> make_display();
  virtual RunSetup make_setup();

  const RunOptions& options() const { return options_; }
  const AfterDashes& after_dashes() const { return after_dashes_; }
  const std::optional<Simulation>& simulation() const { return simulation_; }
  const std::string& run_dir() const { return run_dir_; }

 private:
  Result<void> check();
  Result<void> prepare();
  Result<void> read_shard();
  Result<PlanOutcome> read_plan();
  Result<void> take_shard();
  Result<void> check_cards() const;  // run_cards.cc
  Result<void> set_up_leases();
  Result<void> set_up_directory();
  RunPlanned describe() const;
  std::optional<HealthRequest> health_request(const std::string& device);
  std::optional<KnownVerdict> known_failure(const Case& test, const Verdict& verdict) const;
  int run();

  RunOptions options_;
  AfterDashes after_dashes_;
  ConsoleOutput output_;
  Budget budget_;
  std::vector<std::string> debugger_;
  std::optional<Simulation> simulation_;
  KnownFailures known_failures_;
  std::map<std::string, std::string> stack_;
  std::string run_id_;
  std::string sim_state_;
  std::string run_dir_;
  std::unique_ptr<Containment> containment_;
  Plan plan_;                // for a shard, the cases it owns
  std::string plan_source_;  // of --plan (PlanFile::source)
  std::optional<Shard> shard_;
  std::optional<PlannedShard> part_;  // of a plan whose digest is
  std::string whole_digest_;
  RunPolicy policy_;
  RunDevices devices_;
  std::optional<LeaseDirectory> leases_;
  std::unique_ptr<RunStack> run_stack_;
  std::vector<Warning> warnings_;
  std::unique_ptr<ScratchRoot> scratch_;
  std::unique_ptr<Journal> journal_;
  std::optional<RunRecordFiles> record_;
  std::unique_ptr<CaseEnvironments> environments_;
};

}  // namespace proctor::cli
