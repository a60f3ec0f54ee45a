// Tracks which cases of a process have begun and ended, from the events that the process reports. Pure logic: it has no
// clock and starts no process. RunningAttempt uses it.
//
//   not begun --its `start` event, or the start of its process if it is alone--> open
//   open --its `end` event--> reported: its own limits no longer apply
//   open | reported --the next `start` event, or the end of the process--> closed
//
// A shared process is unreliable if it reports events that one process cannot report, such as a second begin or end of
// a case: two processes may have written them. It is also unreliable if no case explains its end (unexplained_end.h).
// Only failures of an unreliable process count.
//
// If a case is alone, its `start` event only ends the start-up clock.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/devices/admission/telemetry.h"
#include "harness/journal/child_report.h"
#include "harness/process/evidence/kernel_log.h"
#include "harness/runner/attempt/attempt_plan.h"

namespace proctor {

class CaseTracker {
 public:
  // The case that has begun and not ended.
  struct Open {
    std::size_t which = 0;
    Clock::time_point started{};
    std::optional<Clock::time_point> start_reported{};  // when its `start` event came
    std::optional<Clock::time_point> reported{};        // when its `end` event came
    KernelLog::Position kernel_position = 0;
    Telemetry::Window telemetry = 0;
  };

  // `starting` means that the start-up clock runs. `plan` must outlive the tracker.
  CaseTracker(const AttemptPlan& plan, bool starting);

  // Returns the case of a shared process that begins with this line and has not begun before.
  std::optional<std::size_t> begun_by(std::string_view line) const;
  void begin(const Open& open);
  // Assigns the following lines to the case `which`, which begins with its `start` event.
  void listen_to(std::size_t which);

  // Closes the open case without a result, which follows later. No case is open then.
  Open set_aside(Clock::time_point now);
  // Opens a case again whose result is available now.
  void reopen(const Open& open, ChildReport child);
  // The open case has reported its end.
  void mark_reported(Clock::time_point now);

  // The effect of a line on the clock. After kContradiction the process is unreliable.
  enum class Received { kNothing, kStarted, kReported, kContradiction };
  Received add_line(std::string_view line, Clock::time_point now);
  // Closes the open case with this outcome.
  void close(Outcome outcome);

  // The first reason counts; "": none.
  void mark_unreliable(std::string why);
  const std::string& why_unreliable() const { return why_unreliable_; }
  // Returns whether the process is unreliable and reported no failure of the open case.
  bool is_unproven() const;
  // Returns the closed cases that were unproven when they were closed.
  const std::set<std::size_t>& unproven() const { return unproven_; }

  // The open case continues to its end, but no other case begins.
  void begin_no_more() { no_more_ = true; }
  bool may_begin() const { return !no_more_; }
  // The process is being ended: no case begins or reports after this call.
  void process_is_ending() { ending_ = true; }
  bool is_ending() const { return ending_; }

  const std::optional<Open>& open() const { return open_; }
  // Returns the run time of the open case of a shared process, up to `then`. The last lines of a process can be read
  // after its end.
  Milliseconds lasted(Clock::time_point then) const;
  const AttemptCase& of(std::size_t which) const { return plan_.cases[which]; }
  // Returns the case that is responsible for the process now.
  const AttemptCase& blamed() const { return of(open_ ? open_->which : 0); }
  bool none_began() const;
  std::vector<std::size_t> not_begun() const;
  // Returns the ids of the cases of a shared process that began.
  std::vector<std::string> begun() const;

  // Returns the report of the open case, or of the process before its first case began.
  const ChildReport& child() const { return child_; }
  void replace_child(ChildReport child) { child_ = std::move(child); }  // by the merged report of all ranks
  bool is_starting() const { return starting_; }
  bool another_was_bad() const { return another_was_bad_; }

 private:
  bool contradicts_itself() const;

  const AttemptPlan& plan_;
  ChildReport child_;
  std::optional<Open> open_;
  std::map<std::string, std::size_t> by_name_;  // of a shared process: by the names that the process uses
  std::vector<bool> begun_;
  bool starting_;
  bool no_more_ = false;
  bool ending_ = false;
  bool another_was_bad_ = false;
  std::string why_unreliable_;
  std::set<std::size_t> unproven_;
};

}  // namespace proctor
