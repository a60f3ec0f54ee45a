// One process that executes a case, or several cases in sequence. RunningAttempt gives it a scratch directory, an
// environment and limits. It reads the events and the output of the process, and reports each case as AttemptStarted
// and AttemptEnded.
//
// A single case begins when its process starts. Each of several cases begins with its `start` event or line of output,
// which also restarts the clock. Until the next case begins, it is responsible for a crash or a hang of the process;
// the last case is also responsible for the end of the process. After an `end` event, the limits of the suite apply
// again, and the time of the case stops. If a process ends before any case began, its first case is responsible.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/alive.h"
#include "harness/process/contained_process.h"
#include "harness/runner/attempt/attempt_files.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/attempt/batch_results.h"
#include "harness/runner/attempt/case_facts.h"
#include "harness/runner/attempt/case_group.h"
#include "harness/runner/attempt/case_observer.h"
#include "harness/runner/attempt/case_tracker.h"
#include "harness/runner/attempt/evidence_look.h"
#include "harness/runner/attempt/rank_reports.h"
#include "harness/runner/attempt/readiness.h"
#include "harness/runner/attempt/run_events.h"

namespace proctor {

// Receives the ends of the cases and of the process of an attempt. RunningGroup implements it.
class AttemptListener {
 public:
  virtual ~AttemptListener() = default;
  // `which` is an index into AttemptPlan::cases. `went_on` means that the process did not end with this case. Called
  // after the event AttemptEnded. It must not destroy the attempt.
  virtual void on_case_ended(std::size_t which, const AttemptEnded& ended, bool went_on) = 0;
  // A case that has the terminal was stopped there (Ctrl-Z).
  virtual void on_stopped() = 0;
  // Called last, from the loop, exactly once unless the attempt is abandoned. May destroy the attempt.
  virtual void on_process_ended(ProcessFate fate) = 0;
};

// Runs one process, from its start to the report of its last case. Attempts creates it for a RunningGroup.
class RunningAttempt {
 public:
  // Starts the process.
  RunningAttempt(boost::asio::io_context& io, Containment& containment, const AttemptSetup& setup,
                 RunFiles& run_files, CoreFiles& cores, CaseObserver& observer, RunEvents& events,
                 AttemptPlan plan, AttemptListener& listener);
  ~RunningAttempt();
  RunningAttempt(const RunningAttempt&) = delete;
  RunningAttempt& operator=(const RunningAttempt&) = delete;

  // Ends the process early: the open case becomes notrun(reason), with the first `reason` that is given.
  // Reason::kInterrupted means that the caller of the run sent `signal`. This is the regular end of a server.
  void stop(int signal, Milliseconds grace, std::optional<Reason> reason);
  // The open case continues to its end, but no other case begins.
  void begin_no_more() { cases_.begin_no_more(); }
  // No process of the case runs between these two calls (Ctrl-Z). The guards continue to run.
  void freeze() { process_->freeze(); }
  void thaw() { process_->thaw(); }
  // Stops the wait for a process that does not die. Reports the end of its case as unkillable, and does not call the
  // listener.
  void abandon();
  // Returns the cases that have not begun, as indices.
  std::vector<std::size_t> not_begun() const { return cases_.not_begun(); }
  // Valid after the end of the process: whether only failures count (unexplained_end.h, batch_results.h), ...
  bool is_unreliable() const { return is_refused() || !cases_.why_unreliable().empty(); }
  // ... whether the program cannot run several cases in a process, ...
  bool is_refused() const { return by_.results && by_.results->is_refused(); }
  // ... the cases that began and whose attempts do not count, and whether they may share a process again.
  const std::set<std::size_t>& unproven() const { return by_.results ? unproven_ : cases_.unproven(); }
  bool may_share_again() const { return by_.results && by_.results->may_share_again(); }

 private:
  ProcessSpec make_process();

  void on_line(std::string_view line);
  void on_event(std::string_view line);
  bool begin_next(std::size_t which);
  void on_output(Stream stream, std::string_view bytes);
  void on_limit(int guard_pid, std::function<void()> then);
  void on_process_end(const ProcessEnd& end);

  void begin(std::size_t which, Clock::time_point now);
  // Ends the open case and reports it. `end` is the end of the process, or null if the process continues. `ran` is the
  // result of a case that the process reported in its file at its end.
  void conclude(const ProcessEnd* end, const BatchResults::Ran* ran = nullptr);
  void report_results();
  AttemptEnded describe_case(const ProcessEnd* end, Clock::time_point at,
                             const std::string& result_refused = {}) const;
  void report(const AttemptCase& entry, const Event& event);
  std::string read_result(const ProcessEnd& end);
  void report_evidence(const std::string& problem);
  void finish(const ProcessEnd& end);

  const AttemptSetup& setup_;
  RunFiles& run_files_;
  CaseObserver& observer_;
  RunEvents& events_;
  const AttemptPlan plan_;
  AttemptListener& listener_;
  const CaseObserver::Process observed_;
  AttemptFiles files_;
  CaseTracker cases_;
  struct {  // how the process reports its cases; all null: by the child protocol
    std::unique_ptr<Translator> translator;  // for a kind without its own events in the child protocol
    std::unique_ptr<BatchResults> results;   // for several cases with a result file
    std::unique_ptr<RankReports> ranks;      // for a case with ranks
  } by_;
  std::set<std::size_t> unproven_;  // unproven cases, if by_.results is set
  std::optional<Readiness> readiness_;
  StopOrder stop_;
  EvidenceSnapshot snapshot_;
  std::shared_ptr<ContainedProcess> process_;
  Alive alive_;  // the process may outlive an abandoned attempt
};

}  // namespace proctor
