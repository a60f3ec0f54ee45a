// One process that executes a case, or several cases one after the other: gives it a scratch directory,
// an environment and its limits, reads its events and output, and reports each case as AttemptStarted and
// AttemptEnded.
//
// A case that is alone begins when its process starts. If there are several, each begins with its own `start`
// event or line of output, which also restarts the clock. Until the next one begins, it is responsible for the process:
// for a crash or a hang, and the last one for the process's end. What the process does after an `end` event has the
// limits of the suite anew, and is not in the time of the case. If a process ends before any of them began, its
// first case is responsible.
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

// Whose attempt it is.
class AttemptListener {
 public:
  virtual ~AttemptListener() = default;
  // `which`: index into AttemptPlan::cases. `went_on`: the process did not end with this case. Called after
  // AttemptEnded; must not destroy the attempt.
  virtual void on_case_ended(std::size_t which, const AttemptEnded& ended, bool went_on) = 0;
  // A case that has the terminal was stopped there (Ctrl-Z).
  virtual void on_stopped() = 0;
  // Called last, from the loop, exactly once unless the attempt is abandoned. May destroy the attempt.
  virtual void on_process_ended(ProcessFate fate) = 0;
};

class RunningAttempt {
 public:
  // Starts at once.
  RunningAttempt(boost::asio::io_context& io, Containment& containment, const AttemptSetup& setup,
                 RunFiles& run_files, CoreFiles& cores, CaseObserver& observer, RunEvents& events,
                 AttemptPlan plan, AttemptListener& listener);
  ~RunningAttempt();
  RunningAttempt(const RunningAttempt&) = delete;
  RunningAttempt& operator=(const RunningAttempt&) = delete;

  // Ends it early: the case that has begun becomes notrun(reason), the first that is given. Reason::kInterrupted: the
  // caller of the run sent `signal`, which is how a server is told to end.
  void stop(int signal, Milliseconds grace, std::optional<Reason> reason);
  // Lets the case that has begun go on to its end, but lets no other begin.
  void begin_no_more() { cases_.begin_no_more(); }
  // Between these two nothing of it runs (Ctrl-Z): the cases are held, their guards are not.
  void freeze() { process_->freeze(); }
  void thaw() { process_->thaw(); }
  // Stops waiting for a process that does not die: reports the end of its case as unkillable and does not
  // call `on_done`.
  void abandon();
  // Its cases that have not begun, by index.
  std::vector<std::size_t> not_begun() const { return cases_.not_begun(); }
  // After its end: whether only failures count (unexplained_end.h, batch_results.h), ...
  bool is_unreliable() const { return is_refused() || !cases_.why_unreliable().empty(); }
  // ... whether its program cannot run several cases in a process, ...
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
  // `end` is the end of the process, or null if the process has gone on. `ran`: whose result came with the end of the
  // process.
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
  struct {                                   // how the process reports what its cases do; null: otherwise
    std::unique_ptr<Translator> translator;  // for a kind that does not speak the child protocol itself
    std::unique_ptr<BatchResults> results;   // of several cases whose results are in a file
    std::unique_ptr<RankReports> ranks;      // of a case with ranks
  } by_;
  std::set<std::size_t> unproven_;  // of those by_.results
  std::optional<Readiness> readiness_;
  StopOrder stop_;
  EvidenceSnapshot snapshot_;
  std::shared_ptr<ContainedProcess> process_;
  Alive alive_;  // the process may outlive an abandoned attempt
};

}  // namespace proctor
