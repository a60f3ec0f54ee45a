// Makes a ResolvedRun from the events of a run. Example:
//
//   RunResolver resolver;
//   resolver.on(RunPlanned{});
//   resolver.on(RunEnded{});
//   const int planned = resolver.resolve().summary.planned();  // 0
//
// The outcome of a case is the first of these that applies:
//   CaseEnded                                    its verdict
//   no attempt                                   notrun(WHY the run stopped: budget, fail_fast, ...; or
//                                                interrupted)
//   a bad repeat that another one followed       the verdict of its last attempt
//   the last attempt did not end                 notrun(interrupted)
//   the last attempt was bad                     its verdict
//   fewer executions than --repeat requires      notrun(interrupted)
//   otherwise                                    the verdict of the last attempt
// Under --strict a pass or skip with the mark `warn` is fail(warn). An attempt whose device was unhealthy is ignored.
// If the case has no other attempt, it is notrun(device_unhealthy).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "harness/journal/journal_chain.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// Limits the output of bad attempts to the amount that reports of a whole run show. The logs on disk are complete.
class OutputLimit {
 public:
  void apply(AttemptEnded& end);

 private:
  static constexpr std::size_t kMost = 16 * 1024 * 1024;

  std::size_t kept_ = 0;
};

// Collects the events of a run and computes the derived facts. The runner and load_journal() use it.
class RunResolver : public EventSink {
 public:
  void on(const Event& event) override;

  // Returns the records so far. Derived facts are those of the last resolve().
  const ResolvedRun& recorded() const { return run_; }
  // Returns the run so far. The next call adds later events.
  const ResolvedRun& resolve();
  ResolvedRun take();

 private:
  void add(const RunPlanned& plan);
  void add(const AttemptStarted& start);
  void add(const AttemptEnded& end);
  void add(const AttemptSuspected& suspected);
  void add(const CaseEnded& end);
  void add(const CasePast& past);
  void add(const DeviceHealth& health);
  void add(const HardwareEvidence& evidence);
  void add(const ProgramRead& read);
  void add(const Warning& warning);
  void add(const StopRequested& stop);
  void add(const RunEnded& ended);
  void index_cases();
  ResolvedCase* planned_case(const std::string& case_id);

  ResolvedRun run_;
  bool is_resolved_ = false;
  OutputLimit output_;
};

// Removes the log name of an attempt without an end, whose runner was killed, unless `is_there` returns true for it.
void forget_logs(ResolvedRun& run, const std::function<bool(const std::string& log)>& is_there);

// Reads a journal. An incomplete last line is ignored, because the runner was killed while it wrote it. Any other line
// that is not a record, and any record about a case that was not planned, becomes a warning of the run. A journal that
// was changed after it was written is a warning, too (WarningCode::kJournalChanged), by the digests in its records and
// by `seal`, if known. A file that does not exist or has no plan is an error.
Result<ResolvedRun> load_journal(const std::filesystem::path& path,
                                 const std::optional<JournalSeal>& seal = {});

// Computes the facts of each case that follow from its records and from the run: verdict,
// deciding attempt, owner, headline.
void resolve_cases(ResolvedRun& run);

}  // namespace proctor
