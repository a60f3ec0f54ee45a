#include "harness/runner/watch_of_run.h"

#include <fmt/format.h>

#include <utility>

#include "harness/runner/machine/hardware_evidence.h"

namespace proctor::runner {
namespace {

constexpr Milliseconds kLastSweep{1'000};
// How long the programs of the suites are read after the last case, and when somebody waits for the end.
constexpr Milliseconds kLastReading{1'000};
constexpr Milliseconds kHastyReading{200};
// The longest wait for a locked history after a stop signal.
constexpr Milliseconds kHastyWait{200};

}  // namespace

void WatchOfRun::on_tick() {
  prepared_.journal->sync_if_due();
  prepared_.programs->read_piece(events_);
  display_.tick();
  report_loss();
}

void WatchOfRun::report_loss() {
  if (const std::string why = display_.take_loss(); !why.empty())
    events_.on(Warning{WarningCode::kStdoutLost, "failed to write to stdout: " + why + "; the run went on"});
}

// No record follows the end of the run. What the journal loses later is reported as a lost report.
void WatchOfRun::at_end() {
  const bool hasty = memory_.was_stopped();
  prepared_.programs->finish(events_, hasty ? kHastyReading : kLastReading,
                             [this] { return control_.late_stop().has_value(); });
  tell_hardware();
  for (const Warning& warning : look_at_the_end()) events_.on(warning);
  history_.tell_past(memory_, hasty ? kHastyWait : kHistoryWait, events_);
  prepared_.journal->on_lost(nullptr);
  report_loss();
}

// What no case could end has one more second; what is alive then is named, and the record stays for `finish`.
std::vector<Warning> WatchOfRun::end_rest() {
  const std::vector<Stray> left = prepared_.setup.containment->end_rest(kLastSweep);
  if (left.empty()) return {};
  std::vector<Warning> warnings;
  std::vector<int> pids;
  for (const Stray& stray : left) {
    if (stray.pid > 0) pids.push_back(stray.pid);
    warnings.push_back({WarningCode::kLeftAlive,
                        fmt::format("process {} ({}) could not be ended; `proctor finish {}` tries again",
                                    stray.pid, stray.command, prepared_.run_dir)});
  }
  if (!prepared_.record) return warnings;
  if (auto kept = prepared_.record->keep(pids); !kept)
    warnings.push_back({WarningCode::kRunRecord, "failed to " + kept.error().what});
  return warnings;
}

// What became of the stack, of the devices, of what could not be killed, and of the journal, to which the processes of
// the cases have access; the reports of this run are made of what was written.
std::vector<Warning> WatchOfRun::look_at_the_end() {
  std::vector<Warning> warnings = prepared_.stack.check_again();
  if (prepared_.placed.access) {
    for (Warning& lost : prepared_.placed.access->why_lost(memory_.resolve()))
      warnings.push_back(std::move(lost));
  }
  for (Warning& left : end_rest()) warnings.push_back(std::move(left));
  if (const std::string why = prepared_.journal->difference(); !why.empty()) {
    warnings.push_back(
        {WarningCode::kJournalChanged, "the journal was changed after its runner wrote it: " + why +
                                           "; these reports contain what the runner wrote; do not rely on "
                                           "reports that are rendered from the journal"});
  }
  return warnings;
}

// Once more: a driver that was replaced meanwhile, or a machine that was resumed as another, is not the same.
void WatchOfRun::tell_hardware() {
  const std::int64_t at_ms = memory_.elapsed_ms();
  for (HardwareEvidence& evidence :
       gather_hardware_evidence(prepared_.placed.devices, RootedFiles("/"), "end")) {
    evidence.at_ms = at_ms;
    events_.on(evidence);
  }
}

}  // namespace proctor::runner
