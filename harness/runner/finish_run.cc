#include "harness/runner/finish_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/replace_file.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/runner/acceptance.h"
#include "harness/runner/first_record.h"
#include "harness/runner/history_of_run.h"
#include "harness/runner/record/journal.h"
#include "harness/runner/rules_of_run.h"
#include "harness/runner/schedule/runner.h"
#include "harness/runner/watch_of_run.h"
#include "reports/formats/junit.h"
#include "reports/render.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_memory.h"

namespace proctor::runner {
namespace {

// ---- Reports ----

// A part of a joined run has a journal only: `proctor ctest report` makes the reports of all parts.
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

// Attempts whose log did not fit on the disk.
std::ptrdiff_t cut_logs(const ResolvedRun& run) {
  std::ptrdiff_t count = 0;
  for (const ResolvedCase& test : run.cases) {
    count += std::ranges::count_if(
        test.attempts, [](const Attempt& attempt) { return attempt.end && attempt.end->output.lost; });
  }
  return count;
}

// No report, no green: what is missing is a problem of the run, in all reports that can be written.
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
  events.on(Warning{WarningCode::kReportLost, "failed to " + lost});
  const auto again = write_all(memory.resolve(), prepared.run_dir, asked);
  if (!written) return written.error();
  return again ? Error{ErrorKind::kSystem, lost, {}, 0} : again.error();
}

// ---- The run ----

// CTest shows exit code 3 as skipped. That stays for a run that executed nothing, or lacks a device for some of its cases.
int code_of_part(const ResolvedRun& run, int code) {
  const bool has_skip_alone = run.plan.rules.fail_on_skip.empty() && run.summary[Outcome::kNotrun] == 0;
  const bool is_skip = has_skip_alone && (run.summary.executed() == 0 || !run.plan.no_device_for.empty());
  return code == kExitIncomplete && !is_skip ? kExitRed : code;
}

// The merged or joined run is recorded in its place.
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
                                prepared.placed.access.get(), setup.care.reset);
  WatchOfRun watch(prepared, memory, history, display, events, control);
  setup.rules = &case_rules;
  setup.care.rules = &device_rules;
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
  // There may be hundreds: not while the first case waits, and once for all parts of a joined run.
  if (!request.reports.is_part) remove_old_journal_seals();
  return result;
}

}  // namespace proctor::runner
