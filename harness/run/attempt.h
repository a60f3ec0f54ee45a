// One execution of a case: gives it a scratch directory, an environment and its limits, listens to what it
// says, and tells the story as AttemptStarted and AttemptEnded.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/events.h"
#include "harness/plan/plan.h"
#include "harness/process/contained_process.h"
#include "harness/run/child_report.h"
#include "harness/run/scratch.h"

namespace proctor {

// What all attempts of a run share.
struct AttemptContext {
  boost::asio::io_context& io;
  Containment& containment;
  EventSink& sink;
  ScratchRoot& scratch;
  Clock::time_point run_started;
  std::string run_dir;           // absolute
  bool inherit_stdio = false;    // --no-capture, --debugger
  bool pass_through = false;     // exec
  std::string evidence_program;  // proctor itself; "": nothing is gathered before a limit ends a case
  std::vector<std::string> evidence_environment;
  std::vector<std::string> debugger;  // put in front of the command; no limits then
};

struct AttemptPlan {
  const Suite* suite = nullptr;
  const Case* test = nullptr;
  int attempt = 1;
  int repeat = 1;
  std::vector<std::string> devices;      // leased ids
  std::vector<int> leases;               // descriptors of their leases
  std::vector<std::string> environment;  // NAME=VALUE, without what is particular to the attempt
};

// logs/HASH.ATTEMPT[.rR].log: HASH is the first 16 hex digits of SHA-256 of the id.
std::string attempt_log(const std::string& case_id, int attempt, int repeat);
// evidence/HASH.ATTEMPT[.rR].txt, likewise.
std::string attempt_evidence(const std::string& case_id, int attempt, int repeat);

class RunningAttempt {
 public:
  using OnDone = std::function<void(const AttemptEnded&)>;

  // Starts at once. `on_done` follows AttemptEnded, from the loop, exactly once unless the attempt is
  // abandoned.
  RunningAttempt(AttemptContext& context, AttemptPlan plan, OnDone on_done);
  ~RunningAttempt();
  RunningAttempt(const RunningAttempt&) = delete;
  RunningAttempt& operator=(const RunningAttempt&) = delete;

  // Ends it early: it becomes notrun(reason), the reason of the first call.
  void stop(int signal, Milliseconds grace, const std::string& reason);
  // Gives up on a process that does not die: tells its end as unreapable, without `on_done`.
  void abandon();

 private:
  ProcessSpec make_spec();
  void gather(int guard_pid, std::function<void()> then);
  void finish(const ProcessEnd& end);
  AttemptEnded describe(const ProcessEnd& end);
  void warn_about_child();
  void take_scratch();
  void clean_up(const ProcessEnd& end);

  AttemptContext& context_;
  AttemptPlan plan_;
  OnDone on_done_;
  ChildReport child_;
  std::string scratch_;      // kind proctor: its working directory and TMPDIR
  std::string result_file_;  // kind gtest
  std::string stop_reason_;
  Clock::time_point started_;
  std::shared_ptr<ContainedProcess> process_;
  std::shared_ptr<ContainedProcess> gathering_;  // of evidence, while it lasts
  EvidenceInfo evidence_;
  // The process may outlive an abandoned attempt; its callbacks ask here first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace proctor
