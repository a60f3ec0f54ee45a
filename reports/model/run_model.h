// The journal as a report sees it: every planned case with its attempts and exactly one outcome, at
// any moment and after any kind of end. What a runner remembers of its run (run_memory.h) fills it, or a journal on
// disk does; both give the same model.
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

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/journal_chain.h"
#include "harness/core/result.h"
#include "reports/model/packed.h"

namespace proctor {

// Its records do not repeat what is elsewhere: the case is that of the CaseRecord, the log is that of `start`, variables
// and telemetry are RunModel::environment() and telemetry(). Of 100,000 cases it would be half of the memory.
struct Attempt {
  AttemptStarted start{};
  std::optional<AttemptEnded> end{};
  std::string packed_environment{};
  std::string packed_telemetry{};
  // In a shared process, and its repeat has an attempt alone, which counts instead (docs/explanation/batches.md).
  bool confirmed_alone = false;
};

// The verdict of an attempt. Without an end record it is notrun(interrupted).
const Verdict& verdict_of(const Attempt& attempt);

// Whether its device was found unhealthy after it, so that it says nothing about the code.
bool is_suspect(const Attempt& attempt);

// Whether it says something about the code: its device was well, and its program can be believed.
bool counts(const Attempt& attempt);

// Whether its framework ran the case again after a failure, and it passed then.
bool passed_after_retry(const Attempt& attempt);

struct CaseRecord {
  PlannedCase planned;
  std::vector<Attempt> attempts;  // in the order of their first record
  std::optional<CaseEnded> end;   // without `case_id`
};

// The attempt that shows the verdict best: the last one that has the outcome of the case. If there is none,
// the last bad one, and otherwise the last one. Null when nothing was started.
const Attempt* deciding_attempt(const CaseRecord& record, const Verdict& verdict);

// The time spent in all attempts of a case.
std::int64_t duration_ms(const CaseRecord& record);

// How many cases had each outcome. `planned` is always the sum of the others.
struct Summary {
  std::array<int, kAllOutcomes.size()> counts{};

  int operator[](Outcome outcome) const { return counts[static_cast<std::size_t>(outcome)]; }
  int& operator[](Outcome outcome) { return counts[static_cast<std::size_t>(outcome)]; }
  int planned() const;
  // All cases except those that are skip or notrun.
  int executed() const;
};

// Keeps so much of the output of bad attempts as reports show of a whole run. The logs on disk have all of it.
class OutputLimit {
 public:
  void apply(AttemptEnded& end);

 private:
  static constexpr std::size_t kMost = 16 * 1024 * 1024;

  std::size_t kept_ = 0;
};

class RunModel : public EventSink {
 public:
  void on(const Event& event) override;

  // Names no log for an attempt without an end, the runner of which was killed, unless it `is_there`.
  void forget_logs(const std::function<bool(const std::string& log)>& is_there);

  bool has_plan() const { return has_plan_; }
  const RunPlanned& plan() const { return plan_; }                 // `plan().cases` is empty: see cases()
  const std::vector<CaseRecord>& cases() const { return cases_; }  // in the planned order
  const CaseRecord* find(std::string_view case_id) const;
  // The digest of a suite's program, or why there is none.
  ProgramRead program_read(const PlannedSuite& suite) const;
  const std::vector<Warning>& warnings() const { return warnings_; }
  bool warned_of(WarningCode code) const;
  bool warned_of_machine() const;  // by a warning for which is_machine_warning()
  const std::vector<DeviceHealth>& health() const { return health_; }  // without the baselines
  // What the kernel says of the devices, at the start and at the end of the run.
  const std::vector<HardwareEvidence>& hardware() const { return hardware_; }
  // The entry of the list of --known-failures that expected how the case ended; null where there is none.
  const KnownFailureEntry* known_failure(const CaseRecord& record) const;
  // What a history knows of the case; null where the run had none, or the case passed at once.
  const CasePast* past(const CaseRecord& record) const;
  bool has_past() const { return !pasts_.empty(); }
  // The bytes in use on each device before the first case, where the driver tells.
  const std::map<std::string, std::uint64_t>& device_baseline() const { return baseline_; }
  const std::optional<StopRequested>& stop() const { return stop_; }  // the first one
  const std::optional<RunEnded>& ended() const { return ended_; }

  std::vector<EnvironmentVariable> environment(const Attempt& attempt) const;
  TelemetryInfo telemetry(const Attempt& attempt) const;

  const Verdict& verdict(const CaseRecord& record) const;
  bool is_bad(const CaseRecord& record) const;  // its verdict is, for a case of its kind
  Marks marks(const CaseRecord& record) const;  // sorted, each once
  bool has_mark(const CaseRecord& record, Mark mark) const;
  Summary summary() const;

  // Whether the run, or this case, was simulated and so says nothing about hardware.
  bool simulated() const;
  bool simulated(const CaseRecord& record) const;
  // The signal that asked the run to stop, or 0.
  int stop_signal() const { return stop_signal_; }
  // The time from the start of the run to the newest record.
  std::int64_t elapsed_ms() const { return elapsed_ms_; }

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
  void add_marks(const Marks& marks) { marks_.insert(marks.begin(), marks.end()); }
  CaseRecord* planned_case(const std::string& case_id);
  std::size_t position_of(std::string_view case_id) const;
  const Verdict& recorded_verdict(const CaseRecord& record) const;

  bool has_plan_ = false;
  RunPlanned plan_;
  std::vector<CaseRecord> cases_;
  std::vector<std::uint32_t> by_id_;  // positions of cases_, sorted by id
  std::set<MarkWord> marks_;          // of any case: most marks are of none
  std::vector<DeviceHealth> health_;
  std::vector<HardwareEvidence> hardware_;
  std::map<std::string, std::uint64_t> baseline_;
  std::map<std::string, CasePast> pasts_;
  std::map<std::string, ProgramRead> programs_;
  std::vector<Warning> warnings_;
  std::optional<StopRequested> stop_;
  Verdict not_run_{Outcome::kNotrun, Reason::kInterrupted};  // of a case without an attempt
  std::optional<RunEnded> ended_;
  int stop_signal_ = 0;
  std::int64_t elapsed_ms_ = 0;
  OutputLimit output_;
  PackedWords words_;
};

// Why no case of RunPlanned::no_device_for could run, and what to do next, without a full stop; "" where none of it is
// missing.
std::string no_device_text(const RunPlanned& plan);

// A last line that is not complete is ignored: the runner was killed while it wrote it. Any other line that
// is not a record, and any record about a case that was not planned, becomes a warning of the model. So does
// a journal that is not what its runner wrote (WarningCode::kJournalChanged), by the digests in its records, and by the
// `seal` of its runner where that is known. A file that does not exist or has no plan in it is an error.
Result<RunModel> load_journal(const std::filesystem::path& path, const std::optional<JournalSeal>& seal = {});

}  // namespace proctor
