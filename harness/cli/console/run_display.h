// What a person sees of a run while it lasts and at its end. It only listens to the events of the run.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/events.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

class RunDisplay : public EventSink {
 public:
  // What a case writes, as it comes; only where wants_output().
  virtual bool wants_output() const { return false; }
  virtual void output(const std::string& /*case_id*/, bool /*is_stderr*/, std::string_view /*bytes*/) {}
  // Called a few times a second.
  virtual void tick() = 0;
  // Called once after the last event and before the reports of the run are written: makes the files that they are made of.
  virtual void before_reports(const ResolvedRun& /*run*/) {}
  // The code of the shell, called once after that and before finish(). A command that judges something else than the run has
  // its own.
  virtual int judge(const ResolvedRun& run) { return run.shell_exit_code; }
  // Called after that. `rendered`: whether the reports could be written; a warning
  // has said which could not.
  virtual void finish(const ResolvedRun& run, int shell_code, const Result<void>& rendered) = 0;
};

}  // namespace proctor::cli
