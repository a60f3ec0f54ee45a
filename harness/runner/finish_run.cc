#include "harness/runner/finish_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/replace_file.h"
#include "harness/journal/events.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/plan/known_failures.h"
#include "harness/runner/acceptance.h"
#include "harness/runner/device_access.h"
#include "harness/runner/display.h"
#include "harness/runner/first_record.h"
#include "harness/runner/history_of_run.h"
#include "harness/runner/machine/case_environment.h"
#include "harness/runner/machine/found_devices.h"
#include "harness/runner/machine/hardware_evidence.h"
#include "harness/runner/machine/machine.h"
#include "harness/runner/prepared.h"
#include "harness/runner/record/journal.h"
#include "harness/runner/schedule/run_control.h"
#include "harness/runner/schedule/run_setup.h"
#include "harness/runner/schedule/runner.h"
#include "reports/formats/junit.h"
#include "reports/render.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_memory.h"

namespace proctor::runner {
namespace {

// ---- Rules ----
// These classes pass the rules of a run for its cases and devices to the scheduler. They use the results of earlier
// steps.

class CaseRulesOfRun : public CaseRules {
 public:
  CaseRulesOfRun(const KnownFailures& list, const FoundDevices& devices, CaseEnvironments& environments)
      : list_(list), devices_(devices), environments_(environments) {}

  Result<CaseEnvironment> environment(const Suite& suite, const std::vector<std::string>& devices) override {
    return environments_.of(suite, devices);
  }
  std::optional<KnownVerdict> known_failure(const Suite& suite, const Case& test,
                                            const std::vector<std::string>& devices,
                                            const Verdict& verdict) override;

 private:
  const KnownFailures& list_;
  const FoundDevices& devices_;
  CaseEnvironments& environments_;
};

class DeviceRulesOfRun : public DeviceRules {
 public:
  // `access` is null if no case needs a device of this machine. `may_reset` allows the reset of a device that fails its
  // probe.
  DeviceRulesOfRun(Machine& machine, const FoundDevices& devices, CaseEnvironments& environments,
                   const DeviceAccess* access, bool may_reset)
      : machine_(machine),
        devices_(devices),
        environments_(environments),
        access_(access),
        may_reset_(may_reset) {}

  // Also returns nothing if the environment of the device cannot be created.
  std::optional<HealthRequest> health_request(const std::string& device) override;
  std::string why_lost(const std::string& device) override;

 private:
  Machine& machine_;
  const FoundDevices& devices_;
  CaseEnvironments& environments_;
  const DeviceAccess* access_;
  bool may_reset_;
};

std::optional<KnownVerdict> CaseRulesOfRun::known_failure(const Suite& suite, const Case& test,
                                                          const std::vector<std::string>& devices,
                                                          const Verdict& verdict) {
  Surroundings where{.stack = {devices_.stack.begin(), devices_.stack.end()},
                     .backend = std::string(to_string(suite.backend))};
  for (const std::string& id : devices) {
    if (const PoolDevice* entry = devices_.find(id)) where.models.push_back(entry->device.name);
  }
  const KnownFailure* entry = list_.match(test.id, where, today_utc());
  const Verdict known = apply(entry, verdict);
  if (std::string warning = unmet_prediction(entry, verdict, test.id, where); !warning.empty())
    return KnownVerdict{.verdict = known, .warning = std::move(warning)};
  if (known == verdict) return std::nullopt;
  return KnownVerdict{.verdict = known, .source = entry->source, .at = entry->origin};
}

std::optional<HealthRequest> DeviceRulesOfRun::health_request(const std::string& device) {
  auto request = machine_.health_request(devices_, device, environments_, may_reset_);
  return request ? *std::move(request) : std::nullopt;
}

std::string DeviceRulesOfRun::why_lost(const std::string& device) {
  const PoolDevice* entry = devices_.find(device);
  return access_ != nullptr && entry != nullptr ? access_->why_lost(entry->device.backend) : std::string();
}

// ---- Periodic work during a run ----

// Does the periodic work during a run: it syncs the journal, reads the programs of the suites and updates the display.
// After the last case it reports how the run changed the machine.
class WatchOfRun : public RunWatcher, public OutputListener {
 public:
  WatchOfRun(Prepared& prepared, RunMemory& memory, HistoryOfRun& history, RunDisplay& display,
             EventSink& events, RunControl& control)
      : prepared_(prepared),
        memory_(memory),
        history_(history),
        display_(display),
        events_(events),
        control_(control) {}

  void on_tick() override;
  bool is_journal_full() const override { return prepared_.journal->nears_limit(); }
  void at_end() override;
  void on_output(const std::string& case_id, Stream stream, std::string_view bytes) override {
    display_.output(case_id, stream == Stream::kErr, bytes);
  }

 private:
  std::vector<Warning> end_rest();
  std::vector<Warning> examine_the_end();
  void report_hardware();
  void report_loss();

  Prepared& prepared_;
  RunMemory& memory_;
  HistoryOfRun& history_;
  RunDisplay& display_;
  EventSink& events_;
  RunControl& control_;
};

constexpr Milliseconds kLastSweep{1'000};
// How long the programs of the suites are read after the last case: normally, and after a stop.
constexpr Milliseconds kLastReading{1'000};
constexpr Milliseconds kHastyReading{200};
// The longest wait for a locked history after a stop.
constexpr Milliseconds kHastyWait{200};

void WatchOfRun::on_tick() {
  prepared_.journal->sync_if_due();
  prepared_.programs->read_piece(events_);
  display_.tick();
  report_loss();
}

void WatchOfRun::report_loss() {
  if (const std::string why = display_.take_loss(); !why.empty())
    events_.on(
        Warning{WarningCode::kStdoutNotWritten, "failed to write to stdout: " + why + "; the run continued"});
}

// The end of the run is the last record. Later losses of the journal are reported as a lost report.
void WatchOfRun::at_end() {
  const bool hasty = memory_.was_stopped();
  prepared_.programs->finish(events_, hasty ? kHastyReading : kLastReading,
                             [this] { return control_.late_stop().has_value(); });
  report_hardware();
  for (const Warning& warning : examine_the_end()) events_.on(warning);
  history_.report_past(memory_, hasty ? kHastyWait : kHistoryWait, events_);
  prepared_.journal->on_lost(nullptr);
  report_loss();
}

// Leftover processes get one more second. Each process that is still alive is named, and the record stays so that
// `proctor finish` can kill it.
std::vector<Warning> WatchOfRun::end_rest() {
  const std::vector<LeakedProcess> left = prepared_.setup.containment->end_rest(kLastSweep);
  if (left.empty()) return {};
  std::vector<Warning> warnings;
  std::vector<int> pids;
  for (const LeakedProcess& leaked : left) {
    if (leaked.pid > 0) pids.push_back(leaked.pid);
    warnings.push_back({WarningCode::kUnkillableProcess,
                        fmt::format("process {} ({}) could not be ended; `proctor finish {}` tries again",
                                    leaked.pid, leaked.command, prepared_.run_dir)});
  }
  if (!prepared_.record) return warnings;
  if (auto kept = prepared_.record->keep(pids); !kept)
    warnings.push_back({WarningCode::kRunRecord, "failed to " + kept.error().what});
  return warnings;
}

// Warns about changes of the stack, lost devices, processes that could not be killed, and a changed journal. The
// processes of the cases can write to the journal. The reports of this run use the records as written by the runner.
std::vector<Warning> WatchOfRun::examine_the_end() {
  std::vector<Warning> warnings = prepared_.stack.check_again();
  if (prepared_.placed.access) {
    for (Warning& lost : prepared_.placed.access->why_lost(memory_.resolve()))
      warnings.push_back(std::move(lost));
  }
  for (Warning& left : end_rest()) warnings.push_back(std::move(left));
  if (const std::string why = prepared_.journal->difference(); !why.empty()) {
    warnings.push_back({WarningCode::kJournalChanged,
                        "the journal was changed after its runner wrote it: " + why +
                            "; these reports contain the records of the runner; do not rely on "
                            "reports that are rendered from the journal"});
  }
  return warnings;
}

// Gathers the evidence again. It differs if the driver was replaced or the virtual machine resumed on other hardware.
void WatchOfRun::report_hardware() {
  const std::int64_t at_ms = memory_.elapsed_ms();
  for (HardwareEvidence& evidence :
       gather_hardware_evidence(prepared_.placed.devices, RootedFiles("/"), "end")) {
    evidence.at_ms = at_ms;
    events_.on(evidence);
  }
}

// ---- Reports ----

// Writes the reports. A part of a joined run has a journal only: `proctor ctest report` makes the reports of all parts.
Result<RenderedFiles> write_all(const ResolvedRun& run, const std::string& run_dir,
                                const ReportRequest& asked) {
  const std::string& junit = asked.junit;
  auto rendered = render(run, run_dir, asked.is_part ? ReportFormats{} : default_formats());
  if (junit.empty()) return rendered;
  const auto written = write_junit_file(junit, run);
  if (written) return rendered;
  if (rendered) return written.error();
  return Error{ErrorKind::kSystem, rendered.error().what + "; " + written.error().what, {}, 0};
}

// Counts the attempts whose log was cut because of a write error.
std::ptrdiff_t cut_logs(const ResolvedRun& run) {
  std::ptrdiff_t count = 0;
  for (const ResolvedCase& test : run.cases) {
    count += std::ranges::count_if(test.attempts, [](const Attempt& attempt) {
      return attempt.end && attempt.end->output.write_failed;
    });
  }
  return count;
}

// A run with a lost report must not pass. Every report that can be written is written again, with a warning about the
// loss.
Result<void> write_reports(RunMemory& memory, Prepared& prepared, const ReportRequest& asked,
                           EventSink& events) {
  Journal& journal = *prepared.journal;
  const auto written = write_all(memory.resolve(), prepared.run_dir, asked);
  std::string lost = journal.complete() ? "" : "write journal.jsonl: records are missing";
  if (!written) lost += (lost.empty() ? "" : "; ") + written.error().what;
  if (lost.empty()) {
    if (!asked.is_part) journal.end_with(rendered_record(*written));
    return {};
  }
  if (const auto cut = cut_logs(memory.resolve()); cut > 0)
    lost += fmt::format("; {} of its logs cut short", cut);
  events.on(Warning{WarningCode::kReportNotWritten, "failed to " + lost});
  const auto again = write_all(memory.resolve(), prepared.run_dir, asked);
  if (!written) return written.error();
  return again ? Error{ErrorKind::kSystem, lost, {}, 0} : again.error();
}

// ---- The run ----

// Returns the exit code for a CTest test. CTest shows exit code 3 as skipped. That code remains for a run that executed
// nothing, or that lacks a device for some of its cases.
int code_of_part(const ResolvedRun& run, int code) {
  const bool has_skip_alone = run.plan.rules.fail_on_skip.empty() && run.summary[Outcome::kNotrun] == 0;
  const bool is_skip = has_skip_alone && (run.summary.executed() == 0 || !run.plan.missing_backend.empty());
  return code == kExitIncomplete && !is_skip ? kExitRed : code;
}

// Returns whether the run is a shard or a part of a joined run. Only the merged or joined run is recorded in the
// history.
bool is_part(const Checked& checked, const Prepared& prepared) {
  const auto& shard = prepared.planned.shard;
  return !checked.request().reports.join.empty() || (shard && shard->count > 1);
}

Result<void> record(HistoryOfRun& history, const Journal& journal, const ResolvedRun& run) {
  const bool changed = run.warned_of(WarningCode::kJournalChanged);
  return history.record(run, changed ? "" : journal.sha256());
}

}  // namespace

RunResult finish_run(const Checked& checked, Prepared& prepared, RunDisplay& display, RunControl& control) {
  write_first_record(checked, prepared);
  const RunRequest& request = checked.request();
  RunMemory memory;
  EventFanout events;
  RunSetup& setup = prepared.setup;
  display.start({.planned = prepared.placed.planned,
                 .run_dir = prepared.run_dir,
                 .devices = prepared.placed.devices.notes,
                 .gives_terminal = checked.gives_terminal(),
                 .control = control});
  std::optional<Acceptance> acceptance;
  if (request.command == kForAccept) acceptance.emplace(checked, prepared);
  HistoryOfRun history(request.reports.history, !is_part(checked, prepared));
  events.add(*prepared.journal);
  events.add(memory);
  events.add(display);
  prepared.journal->on_lost([&](const Warning& warning) { events.on(warning); });
  CaseRulesOfRun case_rules(checked.known_failures.list, prepared.placed.devices, *prepared.environments);
  DeviceRulesOfRun device_rules(*checked.machine, prepared.placed.devices, *prepared.environments,
                                prepared.placed.access.get(), setup.device_checks.reset);
  WatchOfRun watch(prepared, memory, history, display, events, control);
  setup.rules = &case_rules;
  setup.device_checks.rules = &device_rules;
  setup.watcher = &watch;
  if (display.wants_output()) setup.attempts.output = &watch;
  setup.extras.warnings = std::move(prepared.placed.planned.warnings);
  run_plan(setup, prepared.planned, control, events);
  const ResolvedRun& run = memory.resolve();
  if (acceptance) acceptance->judge(run);
  const auto rendered = write_reports(memory, prepared, request.reports, events);
  RunResult result{.run_dir = prepared.run_dir, .signal = run.ending_signal};
  if (auto recorded = record(history, *prepared.journal, run); !recorded)
    result.not_recorded = recorded.error();
  const int judged = acceptance ? acceptance->report().exit_code : run.shell_exit_code;
  result.exit_code = request.reports.join.empty() ? judged : code_of_part(run, judged);
  RunFinish finish{.run = run, .exit_code = result.exit_code, .rendered = rendered};
  if (acceptance) acceptance->settle_devices(finish);
  display.finish(finish);
  // There can be hundreds of old seals. They are removed here because the first case must not wait for this. A joined
  // run removes them once for all parts.
  if (!request.reports.is_part) remove_old_journal_seals();
  return result;
}

}  // namespace proctor::runner
