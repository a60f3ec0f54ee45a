// The results of a process with several cases that writes them to a file at its end (ReportingMode::kFileOfSeveral). It also
// reports which of these cases runs. RunningAttempt uses it.
//
// The output shows which case runs. This determines the time limit, and which case is responsible for a crash. Code of
// a test can print the same lines, and a process that a test forked writes to the same places. So no result counts
// before the process has ended:
//
//   the process                                       the cases that began
//   exited after its last case, and its file, its     have the results of the file. After a failure outside of all cases,
//   output and its exit code agree                    only failures count, and the other cases run again alone
//   ended in a case: a crash, a limit, an exit        this case caused the end. The others have no result, and run
//                                                     again in a shared process, the second time alone
//   ended between two cases                           no case has a result; they run again in the same way
//   was stopped, could not be started, lost its guard no case has a result; they run again in the same way
//   anything else: no such lines, a case that began   no result counts. Each case of the suite has a process from now on
//   twice, a file that contradicts the output
//
// If a case ended the process, the file does not count.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/journal/child_report.h"
#include "harness/journal/events.h"
#include "harness/process/capture.h"
#include "harness/process/contained_process.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/attempt/case_tracker.h"

namespace proctor {

class BatchResults {
 public:
  struct Listener {
    std::function<void(std::size_t which)> on_begin;  // a case begins for the first time
    std::function<void()> on_end;                     // the case that began last has ended
  };

  BatchResults(const AttemptPlan& plan, Listener listener);

  void add_output(std::string_view stdout_bytes);

  // A case that ended before its process.
  struct Ran {
    CaseTracker::Open open;
    TelemetryInfo telemetry;
  };
  void add(Ran ran) { ran_.push_back(std::move(ran)); }
  std::vector<Ran> take_ran() { return std::exchange(ran_, {}); }

  // Call this when the process has ended, before the functions below. If a failure outside of all cases prevented all
  // begins, the cases begin now.
  void process_ended(const ProcessEnd& end, const CaseTracker& cases, const std::string& result_file);
  // Returns whether the results of the file count.
  bool count() const { return count_; }
  // Returns whether the program cannot run several cases in a process.
  bool is_refused() const { return !refusal_.empty(); }
  // Returns the report of the file about a case. It is empty if the file does not count.
  ChildReport report_of(std::size_t which) const;
  // Returns the cases of `before`, and the open case, that must run again because their results do not count.
  std::set<std::size_t> unproven(const std::vector<Ran>& before, const CaseTracker& cases) const;
  // Returns whether these cases may share a process again.
  bool may_share_again() const { return !count_ && !is_refused(); }
  Warning warning() const;  // about a refused program

 private:
  void read_line(std::string_view line);
  void begin(const std::string& name);
  void refuse(std::string why);
  std::string name_of(std::size_t which) const;
  std::string read_file(const std::string& path);
  std::string disagreement(int code, const CaseTracker& cases) const;
  std::string disagreement_on(const std::string& name) const;
  std::string unexplained(int code, const CaseTracker& cases) const;
  bool is_unproven(std::size_t which) const;

  const AttemptPlan& plan_;
  Listener listener_;
  std::unique_ptr<ProgressReader> reader_;
  LineSplitter lines_;
  std::map<std::string, std::size_t> asked_;
  std::set<std::string> begun_;
  std::set<std::string> failed_;  // according to the output
  std::string running_;           // "": no case runs
  bool all_ended_ = false;        // according to the output
  std::vector<Ran> ran_;
  std::map<std::string, ChildReport> file_;
  bool count_ = false;
  bool none_could_begin_ = false;
  std::string refusal_;  // a text that follows "its program"
};

}  // namespace proctor
