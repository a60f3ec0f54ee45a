// The results of a process of several cases that writes them to a file when it ends (ReportingMode::kFileOfSeveral), and which of
// these cases runs.
//
// The output shows which case runs, for its time limit and for the blame. Any code of a case can print the same lines, and
// a process that a test forked prints and writes in the same places. So nothing is a result before the process has ended:
//
//   the process                                       the cases that began
//   exited after its last case, and its file, its     have the results of the file. After a failure outside of all cases,
//   output and its exit code agree                    only failures count, and the other cases run again alone
//   ended in a case: a crash, a limit, an exit        that case has ended it. The others have no result, and run again in
//                                                     a shared process, the second time alone
//   ended between two cases                           none has a result: the same
//   was stopped, could not be started, lost its guard the same
//   anything else: no such lines, a case that began   no result counts. Each case of the suite has a process from now on
//   twice, a file that says otherwise
//
// A process that a case ended has no file that counts, even if there is one.
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
    std::function<void(std::size_t which)> on_begin;  // a case that has not begun before
    std::function<void()> on_end;                     // of the case that began last
  };

  BatchResults(const AttemptPlan& plan, Listener listener);

  void add_output(std::string_view stdout_bytes);

  // A case that ran, but whose process went on.
  struct Ran {
    CaseTracker::Open open;
    TelemetryInfo telemetry;
  };
  void add(Ran ran) { ran_.push_back(std::move(ran)); }
  std::vector<Ran> take_ran() { return std::exchange(ran_, {}); }

  // Call this when the process has ended, and before the rest. Cases that could not begin, because of what is around all
  // cases, begin now.
  void process_ended(const ProcessEnd& end, const CaseTracker& cases, const std::string& result_file);
  bool count() const { return count_; }
  // Whether its program cannot run several cases in a process.
  bool is_refused() const { return !refusal_.empty(); }
  // What the file says of a case, if it counts.
  ChildReport report_of(std::size_t which) const;
  // Which of the cases that ran before, and of the open one, run again, because what is known of them does not count.
  std::set<std::size_t> unproven(const std::vector<Ran>& before, const CaseTracker& cases) const;
  // Whether it may share a process again.
  bool may_share_again() const { return !count_ && !is_refused(); }
  Warning warning() const;  // of a refused one

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
  std::set<std::string> failed_;  // by its output
  std::string running_;           // ""; none, or it has ended
  bool all_ended_ = false;        // by its output
  std::vector<Ran> ran_;
  std::map<std::string, ChildReport> file_;
  bool count_ = false;
  bool none_could_begin_ = false;
  std::string refusal_;  // in words that follow "its program"
};

}  // namespace proctor
