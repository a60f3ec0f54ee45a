// The interface through which a run reports to a person, and the values that it passes. run() calls it during a run and
// at its end. The console implements it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "harness/plan/plan.h"
#include "harness/request/run_request.h"
#include "harness/runner/schedule/run_control.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// The cases of a run. They are the same on every machine with these suites.
struct PlannedRun {
  Plan plan;
  std::vector<std::string> config_files;
  std::vector<InputFile> inputs;  // the files that determined the cases; a repetition of the run needs them
  RunRequest request;             // merged from the options, the plan and the keys
  Extent extent;
  std::string source;               // the text of --plan (PlanFile::source)
  std::optional<PlannedRest> rest;  // set if the plan is the remaining part of other runs
  std::vector<Warning> warnings;    // from all steps so far
};

struct AcceptReport;

// The facts of a run before its first case.
struct RunStart {
  const PlannedRun& planned;
  std::string run_dir;                      // absolute
  const std::vector<std::string>& devices;  // one line each: the devices, and why some are not used
  bool gives_terminal = false;              // the only case inherits the caller's terminal
  RunControl& control;                      // a late stop shortens the end of the run
};

// The facts of a run after its reports are written.
struct RunFinish {
  const ResolvedRun& run;
  int exit_code;
  const Result<void>& rendered;  // an error if a report could not be written; a warning has named this report
  // The verdict on the devices. Null if the run is not an acceptance.
  const AcceptReport* acceptance = nullptr;
  std::vector<std::string> drains{};  // one sentence for each device that was drained, or is used again
  std::vector<Error> problems{};      // errors of the acceptance
};

// The end of a run, as run() returns it.
struct RunResult {
  std::string run_dir{};  // absolute path of the directory with the journal, the logs and the reports
  int exit_code = 0;      // of `proctor run` (journal/outcome_meaning.h), or of `exec`
  int signal = 0;         // the signal that ended the run, or the command of `exec`; 0: none
  std::optional<Error> not_recorded{};  // why the history lacks the run
};

// Receives the events of a run and shows them.
class RunDisplay : public EventSink {
 public:
  // Called while the run waits for devices that it needs to list the cases.
  virtual void waits(const std::string& /*why*/) {}
  // Called before the first event.
  virtual void start(const RunStart& /*run*/) {}
  // Receives the output of a case when it arrives. Called only if wants_output() returned true after start().
  virtual bool wants_output() const { return false; }
  virtual void output(const std::string& /*case_id*/, bool /*is_stderr*/, std::string_view /*bytes*/) {}
  // Called a few times a second.
  virtual void tick() {}
  // Returns the reason if the display lost some of its output. Later calls return "".
  virtual std::string take_loss() { return {}; }
  virtual void finish(const RunFinish& /*finish*/) {}
};

}  // namespace proctor
