#include "harness/runner/finish_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/core/exit_code.h"
#include "harness/core/replace_file.h"
#include "harness/machine/hardware_evidence.h"
#include "harness/run/record/journal_seal.h"
#include "harness/run/schedule/runner.h"
#include "harness/run/schedule/signals.h"
#include "harness/runner/acceptance.h"
#include "harness/runner/first_record.h"
#include "harness/runner/history_of_run.h"
#include "reports/formats/junit.h"
#include "reports/render.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_memory.h"

namespace proctor::runner {
namespace {

constexpr Milliseconds kLastSweep{1'000};
// How long the programs of the suites are read after the last case, and when somebody waits for the end.
constexpr Milliseconds kLastReading{1'000};
constexpr Milliseconds kHastyReading{200};
// The longest wait for a locked history after a stop signal.
constexpr Milliseconds kHastyWait{200};

// ---- After the last case ----

// What no case could end has one more second; what is alive then is named, and the record stays for `finish`.
std::vector<Warning> end_rest(Prepared& prepared) {
  const std::vector<Stray> left = prepared.setup.containment->end_rest(kLastSweep);
  if (left.empty()) return {};
  std::vector<Warning> warnings;
  std::vector<int> pids;
  for (const Stray& stray : left) {
    if (stray.pid > 0) pids.push_back(stray.pid);
    warnings.push_back({WarningCode::kLeftAlive,
                        fmt::format("process {} ({}) could not be ended; `proctor finish {}` tries again",
                                    stray.pid, stray.command, prepared.run_dir)});
  }
  if (!prepared.record) return warnings;
  if (auto kept = prepared.record->keep(pids); !kept)
    warnings.push_back({WarningCode::kRunRecord, "failed to " + kept.error().what});
  return warnings;
}

// What became of the stack, of the devices, of what could not be killed, and of the journal, to which the processes of
// the cases have access; the reports of this run are made of what was written.
std::vector<Warning> look_at_the_end(Prepared& prepared, RunMemory& memory) {
  std::vector<Warning> warnings = prepared.stack.check_again();
  if (prepared.placed.access) {
    for (Warning& lost : prepared.placed.access->why_lost(memory.resolve()))
      warnings.push_back(std::move(lost));
  }
  for (Warning& left : end_rest(prepared)) warnings.push_back(std::move(left));
  if (const std::string why = prepared.journal->difference(); !why.empty()) {
    warnings.push_back(
        {WarningCode::kJournalChanged, "the journal was changed after its runner wrote it: " + why +
                                           "; these reports contain what the runner wrote; do not rely on "
                                           "reports that are rendered from the journal"});
  }
  return warnings;
}

// Once more: a driver that was replaced meanwhile, or a machine that was resumed as another, is not the same.
void tell_hardware(const FoundDevices& devices, std::int64_t at_ms, EventSink& events) {
  for (HardwareEvidence& evidence : gather_hardware_evidence(devices, RootedFiles("/"), "end")) {
    evidence.at_ms = at_ms;
    events.on(evidence);
  }
}

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
  const bool has_skip_alone = run.plan.fail_on_skip.empty() && run.summary[Outcome::kNotrun] == 0;
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

void report_loss(RunDisplay& display, EventSink& events) {
  if (const std::string why = display.take_loss(); !why.empty())
    events.on(Warning{WarningCode::kStdoutLost, "failed to write to stdout: " + why + "; the run went on"});
}

// No record follows the end of the run. What the journal loses later is reported as a lost report.
void before_end(Prepared& prepared, RunMemory& memory, RunDisplay& display, HistoryOfRun& history,
                EventSink& events) {
  const bool hasty = memory.was_stopped();
  prepared.programs->finish(events, hasty ? kHastyReading : kLastReading, stop_signal_waits);
  tell_hardware(prepared.placed.devices, memory.elapsed_ms(), events);
  for (const Warning& warning : look_at_the_end(prepared, memory)) events.on(warning);
  history.tell_past(memory, hasty ? kHastyWait : kHistoryWait, events);
  prepared.journal->on_lost(nullptr);
  report_loss(display, events);
}

void set_callbacks(Prepared& prepared, RunMemory& memory, HistoryOfRun& history, EventSink& events,
                   RunDisplay& display) {
  RunSetup& setup = prepared.setup;
  if (display.wants_output()) {
    setup.attempts.on_output = [&](const std::string& case_id, Stream stream, std::string_view bytes) {
      display.output(case_id, stream == Stream::kErr, bytes);
    };
  }
  setup.stop.journal_is_full = [&] { return prepared.journal->nears_limit(); };
  setup.extras.at_end = [&] { before_end(prepared, memory, display, history, events); };
  setup.extras.on_tick = [&] {
    prepared.journal->sync_if_due();
    prepared.programs->read_piece(events);
    display.tick();
    report_loss(display, events);
  };
}

}  // namespace

RunResult finish_run(const Checked& checked, Prepared& prepared, RunDisplay& display) {
  write_first_record(checked, prepared);
  const RunRequest& request = checked.request();
  RunMemory memory;
  EventFanout events;
  RunSetup& setup = prepared.setup;
  display.start({.planned = prepared.placed.planned,
                 .run_dir = prepared.run_dir,
                 .devices = prepared.placed.devices.notes,
                 .gives_terminal = checked.gives_terminal()});
  std::optional<Acceptance> acceptance;
  if (request.command == kForAccept) acceptance.emplace(checked, prepared);
  HistoryOfRun history(request.reports.history, !is_part(checked, prepared));
  events.add(*prepared.journal);
  events.add(memory);
  events.add(display);
  prepared.journal->on_lost([&](const Warning& warning) { events.on(warning); });
  set_callbacks(prepared, memory, history, events, display);
  setup.extras.warnings = std::move(prepared.placed.planned.warnings);
  run_plan(setup, prepared.planned, events);
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
  release_stop_signals();
  return result;
}

}  // namespace proctor::runner
