#include "harness/runner/prepared.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "harness/base/replace_file.h"
#include "harness/base/surroundings.h"
#include "harness/runner/checked.h"
#include "harness/runner/machine/hardware_evidence.h"
#include "harness/runner/machine/seen_devices.h"
#include "harness/runner/placed.h"
#include "harness/runner/record/journal.h"
#include "harness/runner/record/run_directory.h"
#include "harness/runner/schedule/run_setup.h"
#include "reports/history/known_cases.h"
#include "reports/resolve/run_results.h"

namespace proctor::runner {
namespace {

// ---- The order ----
// The start order of the cases (--order), from the durations of earlier runs. They come from --history, or from the
// last runs in proctor-out/.

using Durations = std::map<std::string, double>;

constexpr std::size_t kNewestResults = 5;  // per case: enough for an order, and half the reading time
constexpr int kMostRuns = 5;

std::size_t known_cases(const Plan& plan, const Durations& durations) {
  return static_cast<std::size_t>(
      std::ranges::count_if(plan.cases, [&](const Case& test) { return durations.contains(test.id); }));
}

Durations durations_of_history(const Checked& checked, Placed& placed) {
  if (!checked.history) return {};
  auto durations = median_durations(*checked.history, kNewestResults);
  if (durations) return *std::move(durations);
  placed.planned.warnings.push_back(
      {WarningCode::kHistory, "no case starts first for its duration: " + durations.error().message()});
  return {};
}

// Reads several runs until half of the cases have a duration, because the last run may have had few cases only.
Durations durations_of_last_runs(const Plan& plan) {
  Durations durations;
  ReadingLimit limit;
  int runs = 0;
  for (const std::string& directory : kept_runs()) {
    if (++runs > kMostRuns || known_cases(plan, durations) * 2 >= plan.cases.size()) break;
    durations.merge(journal_durations(directory + "/journal.jsonl", limit));
  }
  return durations;
}

// Data that cannot be read is ignored, because the order changes no outcome. If the file of --history can no longer be
// read, the run warns.
OrderSetup order_of_run(const Checked& checked, Placed& placed) {
  const Plan& plan = placed.planned.plan;
  OrderSetup order;
  order.longest_first = placed.planned.request.schedule.order != "planned";
  order.jobs = placed.jobs.all;
  order.most_on_cores = placed.jobs.on_cores;
  // The order of cases that run one at a time does not change the duration of the run.
  if (placed.jobs.all == 1 || plan.cases.size() == 1) order.longest_first = false;
  if (!order.longest_first) return order;
  order.durations = durations_of_history(checked, placed);
  if (known_cases(plan, order.durations) == 0) order.durations = durations_of_last_runs(plan);
  return order;
}

// ---- The directory and the record of the run ----

Result<void> open_directory(const Checked& checked, Prepared& prepared) {
  if (auto scratch = checked.machine->scratch(); !scratch) return scratch.error();
  const int keep = prepared.placed.planned.request.reports.keep.value_or(kKeptRuns);
  auto directory = create_run_directory(checked.request().reports.out, checked.run_id, keep);
  if (!directory) return directory.error();
  prepared.run_dir = *std::move(directory);
  auto journal = Journal::open(prepared.run_dir + "/journal.jsonl");
  if (!journal) return journal.error();
  prepared.journal = *std::move(journal);
  const auto& simulation = checked.machine->simulation();
  if (!simulation || !simulation->topology.described()) return {};
  // Keeps a copy of the simulated machine, because its file may change later.
  return replace_file(prepared.run_dir + "/sim_topology.toml", simulation->topology.text);
}

std::vector<Warning> keep_journal_seal(const std::string& run_id, Prepared& prepared) {
  auto file = JournalSealFile::create(prepared.run_dir, run_id);
  if (!file)
    return {{WarningCode::kJournalDigestNotSaved,
             "failed to " + file.error().what +
                 "; a change of the journal after the run can only be detected in the journal itself"}};
  auto seal = std::make_shared<JournalSealFile>(*std::move(file));
  prepared.journal->keep_seal([seal](const JournalSeal& written) { seal->keep(written); });
  return {};
}

// If the record cannot be written, the run continues with a warning. Its processes then remain if the runner is killed.
Result<std::vector<Warning>> write_record(const Checked& checked, Prepared& prepared) {
  const auto containment = checked.machine->containment();
  if (!containment) return containment.error();
  const auto scratch = checked.machine->scratch();
  if (!scratch) return scratch.error();
  auto description =
      describe_this_run(checked.run_id, prepared.run_dir, (*containment)->run_cgroup(), (*scratch)->paths());
  if (checked.request().server.ready_regex)
    description.parent_pid = 0;  // a server outlives the step that starts it
  auto record = RunRecordFiles::write(description);
  if (!record)
    return std::vector<Warning>{
        {WarningCode::kRunRecord,
         "failed to " + record.error().what +
             "; if this runner is killed, the next run cannot kill its remaining processes"}};
  prepared.record.emplace(*std::move(record));
  return keep_journal_seal(checked.run_id, prepared);
}

// ---- Environments of the cases, and the setup of the run ----

Result<std::vector<Warning>> make_environments(const Checked& checked, Prepared& prepared) {
  const auto& simulation = checked.machine->simulation();
  FoundDevices& devices = prepared.placed.devices;
  auto environments = checked.machine->environments(devices, prepared.placed.planned.extent,
                                                    {.state = {},
                                                     .log = prepared.run_dir + "/sim_faults.jsonl",
                                                     .faults = simulation ? simulation->faults : ""});
  if (!environments) return environments.error();
  prepared.environments = *std::move(environments);
  const auto containment = checked.machine->containment();
  if (!containment) return containment.error();
  SeenDevices seen =
      see_devices(prepared.placed.planned.plan, devices, *prepared.environments, **containment);
  devices.notes.insert(devices.notes.end(), seen.notes.begin(), seen.notes.end());
  return std::move(seen.warnings);
}

ForeignPolicy foreign_policy(const std::optional<std::string>& text) {
  return text == "fail"    ? ForeignPolicy::kFail
         : text == "other" ? ForeignPolicy::kOther
                           : ForeignPolicy::kWait;
}

void apply_request(const Checked& checked, const RunRequest& request, RunSetup& setup) {
  const DeviceRequest& devices = request.devices;
  setup.lease_wait = devices.lease_wait.value_or(setup.lease_wait);
  setup.device_checks.telemetry = devices.telemetry.value_or(setup.device_checks.telemetry);
  setup.device_checks.memory_wait = devices.memory_wait.value_or(setup.device_checks.memory_wait);
  setup.device_checks.prove = devices.prove.value_or(false);
  setup.device_checks.retest = devices.retest;
  setup.device_checks.reset = devices.reset == "unhealthy";
  setup.device_checks.device_in_use = foreign_policy(devices.device_in_use);
  const ScheduleRequest& schedule = request.schedule;
  setup.stop.fail_fast = schedule.fail_fast.value_or(0);
  setup.stop.max_machine_failures = schedule.max_machine_failures.value_or(setup.stop.max_machine_failures);
  setup.stop.deadline = schedule.deadline;
  const Repeats& repeats = checked.repeats;
  setup.repeats.repeat = checked.executions;
  setup.repeats.each_device = request.rules.each_device.value_or(false);
  setup.repeats.until_fail = repeats.until_fail || repeats.exclusion;
  setup.repeats.excludes_rate = repeats.exclusion.has_value();
  if (repeats.turns.count() > 0) setup.repeats.turns = repeats.turns;
  setup.attempts.inherit_stdio = checked.gives_terminal();
  setup.attempts.debugger = checked.debugger;
  setup.attempts.inherited = checked.request().caller.inherited;
  setup.attempts.ready = checked.ready;
}

void adapt_to_command(const Checked& checked, RunSetup& setup) {
  AttemptSetup& attempts = setup.attempts;
  setup.starts_once = true;
  attempts.pass_through = !attempts.inherit_stdio;
  attempts.break_commands = in_github_actions() && !checked.request().terminal.workflow_commands;
  if (!attempts.ready) return;
  // The file of a killed run must not be mistaken for the file of this run.
  if (!attempts.ready->file.empty()) ::unlink(attempts.ready->file.c_str());
}

Result<void> set_up(const Checked& checked, Prepared& prepared) {
  Placed& placed = prepared.placed;
  const auto containment = checked.machine->containment();
  if (!containment) return containment.error();
  const auto scratch = checked.machine->scratch();
  if (!scratch) return scratch.error();
  auto monitor = checked.machine->monitor(placed.devices);
  if (!monitor) return monitor.error();
  RunSetup& setup = prepared.setup;
  setup.plan = &placed.planned.plan;
  setup.attempts.run_id = checked.run_id;
  setup.containment = *containment;
  setup.scratch = *scratch;
  setup.devices = &placed.devices;
  setup.leases = placed.leases;
  apply_request(checked, placed.planned.request, setup);
  setup.repeats.pins = placed.pins;
  setup.repeats.order = prepared.order;
  setup.device_checks.monitor = *std::move(monitor);
  setup.attempts.run_dir = prepared.run_dir;
  setup.attempts.own_program = checked.machine->installation().program();
  setup.attempts.evidence_environment = to_list(checked.machine->caller());
  // The evidence comes from the kernel of this machine, also if `stack_root` names another root for the driver stack.
  setup.extras.evidence = gather_hardware_evidence(placed.devices, RootedFiles("/"), "start");
  return {};
}

void add(const std::vector<Warning>& more, Prepared& prepared) {
  std::vector<Warning>& warnings = prepared.placed.planned.warnings;
  warnings.insert(warnings.end(), more.begin(), more.end());
}

}  // namespace

Result<std::unique_ptr<Prepared>> prepare(const Checked& checked, Placed placed) {
  RunStack stack(placed.planned.request.reports.stack_root);
  auto prepared = std::make_unique<Prepared>(
      Prepared{.placed = std::move(placed), .run_dir = {}, .stack = std::move(stack)});
  // The order uses the earlier runs, so it must be computed before the directory of this run exists.
  prepared->order = order_of_run(checked, prepared->placed);
  if (auto opened = open_directory(checked, *prepared); !opened) return opened.error();
  const auto recorded = write_record(checked, *prepared);
  if (!recorded) return recorded.error();
  add(*recorded, *prepared);
  const auto seen = make_environments(checked, *prepared);
  if (!seen) return seen.error();
  add(*seen, *prepared);
  if (auto set = set_up(checked, *prepared); !set) return set.error();
  if (checked.request().command == kForExec) adapt_to_command(checked, prepared->setup);
  return prepared;
}

}  // namespace proctor::runner
