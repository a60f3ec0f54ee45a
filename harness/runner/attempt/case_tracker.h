// Which cases of a process have begun and ended, by what it says. Pure logic: no clock, no process.
//
//   not begun --its `start` event, or that of its process if it is alone--> open
//   open --its `end` event--> reported: no limit of its own runs any more
//   open | reported --the next `start` event, or the end of the process--> closed
//
// A shared process is unreliable if it reports what one process cannot report, such as a second begin or end of a case: two
// processes may have reported. It is also unreliable if no case explains its end (unexplained_end.h). Of an unreliable
// process only failures count.
//
// Of one that is alone, `start` only ends the start-up clock.
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

  // `starting`: its start-up clock runs. `plan` must outlive the tracker.
  CaseTracker(const AttemptPlan& plan, bool starting);

  // Of a process of several: the case that begins with this line and has not begun before.
  std::optional<std::size_t> begun_by(std::string_view line) const;
  void begin(const Open& open);
  // What comes from now on is about the case `which`, which begins with its `start` event.
  void listen_to(std::size_t which);

  // The open case has ended, but its result is not known yet: no case is open.
  Open set_aside(Clock::time_point now);
  // Its result is known now.
  void reopen(const Open& open, ChildReport child);
  // The open case has ended.
  void mark_reported(Clock::time_point now);

  // What a line changes for the clock.
  // kContradiction: the process is unreliable from this line on.
  enum class Received { kNothing, kStarted, kReported, kContradiction };
  Received add_line(std::string_view line, Clock::time_point now);
  // The case has ended with this outcome.
  void close(Outcome outcome);

  // The first reason counts; "" is none.
  void mark_unreliable(std::string why);
  const std::string& why_unreliable() const { return why_unreliable_; }
  // Whether the process is unreliable and reported no failure of the open case.
  bool is_unproven() const;
  // The closed cases that were unproven when they were closed.
  const std::set<std::size_t>& unproven() const { return unproven_; }

  // The one that is open goes on to its end, but no other begins.
  void begin_no_more() { no_more_ = true; }
  bool may_begin() const { return !no_more_; }
  // The process is being ended: no case begins or reports any more.
  void process_is_ending() { ending_ = true; }
  bool is_ending() const { return ending_; }

  const std::optional<Open>& open() const { return open_; }
  // Run time of the open case of a shared process, up to `then`. The last lines of a process can be read after its end.
  Milliseconds lasted(Clock::time_point then) const;
  const AttemptCase& of(std::size_t which) const { return plan_.cases[which]; }
  // The case that is responsible for the process now.
  const AttemptCase& blamed() const { return of(open_ ? open_->which : 0); }
  bool none_began() const;
  std::vector<std::size_t> not_begun() const;
  // The ids of those that began, of a process of several.
  std::vector<std::string> begun() const;

  // From the open case; from the process before the first case began.
  const ChildReport& child() const { return child_; }
  void replace_child(ChildReport child) { child_ = std::move(child); }  // by that of all ranks
  bool is_starting() const { return starting_; }
  bool another_was_bad() const { return another_was_bad_; }

 private:
  bool contradicts_itself() const;

  const AttemptPlan& plan_;
  ChildReport child_;
  std::optional<Open> open_;
  std::map<std::string, std::size_t> by_name_;  // of several: as the process names them
  std::vector<bool> begun_;
  bool starting_;
  bool no_more_ = false;
  bool ending_ = false;
  bool another_was_bad_ = false;
  std::string why_unreliable_;
  std::set<std::size_t> unproven_;
};

}  // namespace proctor
