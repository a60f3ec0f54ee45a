// Makes a ResolvedRun of the events of a run. Example:
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
//   fewer executions than --repeat wanted        notrun(interrupted)
//   otherwise                                    the verdict of the last attempt
// Under --strict a pass or skip with the mark `warn` is fail(warn). An attempt whose device was found unhealthy
// decides nothing; where no other attempt was made, the case is notrun(device_unhealthy).
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

// Keeps so much of the output of bad attempts as reports show of a whole run. The logs on disk have all of it.
class OutputLimit {
 public:
  void apply(AttemptEnded& end);

 private:
  static constexpr std::size_t kMost = 16 * 1024 * 1024;

  std::size_t kept_ = 0;
};

class RunResolver : public EventSink {
 public:
  void on(const Event& event) override;

  // The records so far. What follows from them is as resolve() left it.
  const ResolvedRun& recorded() const { return run_; }
  // The run so far. What happens later is added by the next call.
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

// Names no log for an attempt without an end, the runner of which was killed, unless it `is_there`.
void forget_logs(ResolvedRun& run, const std::function<bool(const std::string& log)>& is_there);

// A last line that is not complete is ignored: the runner was killed while it wrote it. Any other line that
// is not a record, and any record about a case that was not planned, becomes a warning of the run. So does
// a journal that is not what its runner wrote (WarningCode::kJournalChanged), by the digests in its records, and by the
// `seal` of its runner where that is known. A file that does not exist or has no plan in it is an error.
Result<ResolvedRun> load_journal(const std::filesystem::path& path,
                                 const std::optional<JournalSeal>& seal = {});

// The facts of each case that follow from its records and those of the run: its verdict, the attempt that decides, whose
// problem it is, and what happened in one line.
void resolve_cases(ResolvedRun& run);

}  // namespace proctor
