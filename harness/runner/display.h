// RunDisplay shows a run to a person, while it lasts and at its end.
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

// PlannedRun has the cases of a run. It is the same on every machine with these suites.
struct PlannedRun {
  Plan plan;
  std::vector<std::string> config_files;
  std::vector<InputFile> inputs;  // the files that determined what is run, for who runs it again
  RunRequest request;             // of the options, the plan and the keys
  Extent extent;
  std::string source;               // the text of --plan (PlanFile::source)
  std::optional<PlannedRest> rest;  // the plan is what other runs left
  std::vector<Warning> warnings;    // of all steps so far
};

struct AcceptReport;

// A run before its first case.
struct RunStart {
  const PlannedRun& planned;
  std::string run_dir;                      // absolute
  const std::vector<std::string>& devices;  // a line each: which there are, and why some are not used
  bool gives_terminal = false;              // its only case gets the caller's terminal
  RunControl& control;                      // a late stop makes the end of the run hurry
};

// A run whose reports are written.
struct RunFinish {
  const ResolvedRun& run;
  int exit_code;
  const Result<void>& rendered;  // an error: not all reports could be written, and a warning has named those
  // The verdict on the devices. Null if the run is no acceptance.
  const AcceptReport* acceptance = nullptr;
  std::vector<std::string> drains{};  // a sentence for each device that was drained, or is used again
  std::vector<Error> problems{};      // what could not be done
};

// RunResult is the end of a run.
struct RunResult {
  std::string run_dir{};                // absolute: the journal, the logs and the reports
  int exit_code = 0;                    // of `proctor run` (journal/outcome_meaning.h), or of `exec`
  int signal = 0;                       // that ended the run, or the command of `exec`; 0: none
  std::optional<Error> not_recorded{};  // why the history lacks the run
};

class RunDisplay : public EventSink {
 public:
  // The cases are listed with devices, and the run waits for them.
  virtual void waits(const std::string& /*why*/) {}
  // Called before the first event.
  virtual void start(const RunStart& /*run*/) {}
  // Receives the output of a case as it comes. Called only if wants_output() returned true after start().
  virtual bool wants_output() const { return false; }
  virtual void output(const std::string& /*case_id*/, bool /*is_stderr*/, std::string_view /*bytes*/) {}
  // Called a few times a second.
  virtual void tick() {}
  // Returns once why the display lost some of its output, and "" then.
  virtual std::string take_loss() { return {}; }
  virtual void finish(const RunFinish& /*finish*/) {}
};

}  // namespace proctor
