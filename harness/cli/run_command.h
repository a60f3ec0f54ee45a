// `proctor run`, step by step, and the parts that `proctor exec` changes: the plan, the display, and the exit
// code of a refusal. The exit code of the run itself is a function of the journal (reports/model/exit_code.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cli/commands.h"
#include "harness/cli/console/console.h"
#include "harness/cli/console/console_output.h"
#include "harness/cli/console/run_display.h"
#include "harness/cli/run_options.h"
#include "harness/machine/machine.h"
#include "harness/machine/options.h"
#include "harness/plan/known_failures.h"
#include "harness/plan/planner.h"
#include "harness/plan/shard.h"
#include "harness/run/record/journal.h"
#include "harness/run/record/program_digests.h"
#include "harness/run/record/run_directory.h"
#include "harness/run/record/run_record.h"
#include "harness/run/record/subject.h"
#include "harness/run/schedule/runner.h"
#include "harness/stack/run_stack.h"
#include "reports/render.h"

namespace proctor::cli {

// A command line of `run --join` that cannot be read: the reports of the whole say so.
void refuse_part(const std::vector<std::string>& arguments, const Error& error);

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
  virtual Result<void> complete_setup();

  RunOptions& options() { return options_; }
  RunSetup& setup() { return options_.setup; }
  const AfterDashes& after_dashes() const { return after_dashes_; }
  Machine& machine() { return *machine_; }
  const std::string& run_dir() const { return run_dir_; }

 private:
  // The file of --junit is red from the first moment on: one of an earlier run is never taken for this one's.
  Result<void> forget_old_report();
  int refuse_run(const Error& refused);
  Result<void> join();

  // Refuses everything that can be refused without starting anything.
  Result<void> check();
  Result<void> check_budget();
  Result<void> check_files();
  Result<void> read_shard();

  // The steps from the plan to a directory in which it can run. Each step needs those before it.
  Result<void> prepare();
  Result<void> hold_children();
  Result<void> plan_cases();
  Result<void> check_terminal();
  Result<void> find_devices();
  Result<void> check_devices_used();
  Result<void> check_devices_asked();
  Result<void> take_shard();
  Result<void> check_cards();
  Result<void> count_jobs();
  Result<void> choose_programs();
  Result<void> open_leases();
  Result<void> open_directory();
  Result<void> write_record();
  Result<void> make_environments();

  Result<PlanOutcome> read_plan();
  void keep_journal_seal();
  std::vector<Warning> look_at_the_end();
  void describe();
  void describe_subject();
  void describe_narrowing_of(RunPlanned& planned);
  void describe_programs();
  Result<void> read_inputs();
  Result<void> pin_cases();
  void read_programs(bool was_stopped, EventSink& events);
  std::vector<HardwareEvidence> hardware_evidence(std::string_view when) const;
  void tell_hardware(std::int64_t at_ms, EventSink& events) const;
  std::optional<HealthRequest> health_request(const std::string& device);
  std::optional<KnownVerdict> known_failure(const Suite& suite, const Case& test,
                                            const std::vector<std::string>& devices,
                                            const Verdict& verdict) const;
  std::vector<Warning> end_rest();
  int run();
  Result<void> write_reports(const RunModel& model, EventSink& events);
  Result<RenderedFiles> write_all(const RunModel& model) const;
  Result<void> write_junit(const RunModel& model) const;

  RunOptions options_;
  AfterDashes after_dashes_;
  ConsoleOutput output_;
  KnownFailures known_failures_;
  std::optional<KnownFailuresFile> known_failures_file_;
  SaidSubject said_subject_;
  std::optional<ProgramDigests> programs_;
  std::string run_id_;
  std::string run_dir_;
  std::unique_ptr<Machine> machine_;
  Plan plan_;  // for a shard, the cases it owns
  std::vector<std::string> config_files_;
  std::string plan_source_;  // the text of --plan (PlanFile::source)
  std::optional<Shard> shard_;
  std::optional<PlannedShard> part_;  // of the plan with this digest:
  std::string whole_digest_;
  std::vector<std::string> whole_filters_;
  FoundDevices devices_;
  int jobs_ = 1;
  LeaseDirectory* leases_ = nullptr;
  std::optional<CaseEnvironments> environments_;
  std::optional<RunStack> run_stack_;
  std::vector<Warning> warnings_;
  std::unique_ptr<Journal> journal_;
  std::optional<RunRecordFiles> record_;
};

}  // namespace proctor::cli
