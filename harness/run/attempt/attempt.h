// One process that executes a case, or several cases one after the other: gives it a scratch directory,
// an environment and its limits, reads its events and output, and reports each case as AttemptStarted and
// AttemptEnded.
//
// A case that is alone begins when its process starts. If there are several, each begins with its own `start`
// event, which also restarts the clock. Until the next one begins, it is responsible for the process: for a
// crash or a hang, and the last one for the process's end. What the process does after an `end` event has the
// limits of the suite anew, and is not in the time of the case. If a process ends before any of them began, its
// first case is responsible.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/child_report.h"
#include "harness/core/events.h"
#include "harness/evidence/gatherer.h"
#include "harness/machine/case_environment.h"
#include "harness/machine/scratch.h"
#include "harness/plan/kinds/kind.h"
#include "harness/plan/plan.h"
#include "harness/process/contained_process.h"
#include "harness/process/process_spec.h"
#include "harness/run/attempt/case_group.h"
#include "harness/run/attempt/diagnose.h"
#include "harness/run/attempt/log_names.h"
#include "harness/run/attempt/rank_reports.h"
#include "harness/run/attempt/readiness.h"
#include "harness/run/attempt/start_costs.h"
#include "harness/run/care/telemetry.h"

namespace proctor {

class Containment;

// How every attempt of a run is made.
struct AttemptSetup {
  std::string run_dir;         // absolute
  std::string own_program;     // proctor itself: gathers evidence and starts ranks; "": nothing is gathered
  bool inherit_stdio = false;  // --no-capture, --debugger: stdin, stdout and stderr are the runner's own
  // `exec`: output also goes to the runner's own stdout and stderr, where no command in it must be obeyed when
  // `break_commands` says so (core/workflow_commands.h).
  bool pass_through = false;
  bool break_commands = false;
  // What the process of a case writes, as it comes; may be empty.
  std::function<void(const std::string& case_id, Stream, std::string_view bytes)> on_output{};
  std::vector<std::string> debugger;              // put in front of the command; no limits then
  std::vector<std::string> evidence_environment;  // NAME=VALUE, for the program that gathers
  std::optional<ReadyPolicy> ready;  // `exec --ready-regex`; none: nobody waits for a case to be ready
};

// What all attempts of a run share.
struct AttemptContext {
  boost::asio::io_context& io;
  Containment& containment;
  EventSink& sink;
  ScratchRoot& scratch;
  const AttemptSetup& setup;
  const LogNames& names;
  const RunPlanned& planned;
  Clock::time_point run_started;
  Diagnoser diagnoser{};
  Telemetry* telemetry = nullptr;  // none: devices are not sampled
  std::uint64_t core_bytes = 0;    // of the cores that were kept, or that are looked at and may be
  StartCosts start_costs{};
  std::function<void()> on_stopped{};  // a case that has the terminal was stopped there
  Clock::duration frozen_told{0};      // of Containment::frozen()
};

struct AttemptCase {
  const Case* test = nullptr;
  int attempt = 1;
  int repeat = 1;
};

struct AttemptPlan {
  const Suite* suite = nullptr;
  std::vector<AttemptCase> cases;    // at least one; several only of one Case::group
  std::vector<std::string> devices;  // leased ids
  std::vector<int> leases;           // descriptors of their leases
  CaseEnvironment environment;       // without what is particular to the attempt
  // For a case with ranks, the same for each rank, which has an equal share of `devices`, in order;
  // `environment` is then that of their supervisor.
  std::vector<CaseEnvironment> ranks;
};

class RunningAttempt {
 public:
  // `which`: index into AttemptPlan::cases. `went_on`: the process did not end with this case. Called after
  // AttemptEnded; must not destroy the attempt.
  using OnCaseEnded = std::function<void(std::size_t which, const AttemptEnded&, bool went_on)>;
  // Called last, from the loop, exactly once unless the attempt is abandoned. May destroy the attempt.
  using OnDone = std::function<void(ProcessFate)>;

  // Starts at once.
  RunningAttempt(AttemptContext& context, AttemptPlan plan, OnCaseEnded on_case_ended, OnDone on_done);
  ~RunningAttempt();
  RunningAttempt(const RunningAttempt&) = delete;
  RunningAttempt& operator=(const RunningAttempt&) = delete;

  // Ends it early: the case that has begun becomes notrun(reason), the reason of the first call. kInterrupted: the
  // caller of the run sent `signal`, which is how a server is told to end.
  void stop(int signal, Milliseconds grace, std::optional<Reason> reason);
  // Lets the case that has begun go on to its end, but lets no other begin.
  void begin_no_more() { no_more_ = true; }
  // Between these two nothing of it runs (Ctrl-Z): the cases are held, their guards are not.
  void freeze() { process_->freeze(); }
  void thaw() { process_->thaw(); }
  // Stops waiting for a process that does not die: reports the end of its case as unreapable and does not
  // call `on_done`.
  void abandon();
  // Its cases that have not begun, by index.
  std::vector<std::size_t> not_begun() const;

 private:
  // The case that has begun and not ended.
  struct Open {
    std::size_t which;
    Clock::time_point started;
    std::optional<Clock::time_point> reported;  // when its `end` event came
    KernelLog::Mark kernel_mark = 0;
    Telemetry::Window telemetry = 0;
  };

  const Kind& kind() const { return *plan_.suite->kind; }
  bool is_batch() const { return plan_.cases.size() > 1; }
  const AttemptCase& of(std::size_t which) const { return plan_.cases[which]; }
  ProcessSpec make_spec();
  void keep_captured(ProcessSpec& spec) const;
  std::string log_that_is_there(const std::string& log, bool is_needed) const;
  // Adds the variables that belong to this attempt only.
  void add_variables(std::vector<std::string>& environment) const;
  std::vector<std::string> devices_of_rank(std::size_t rank) const;
  void make_rank_supervisor(ProcessSpec& spec);
  void clean_rendezvous();
  bool hung_after_its_end(const ProcessEnd* end) const;
  void tell_ranks(const ProcessEnd* end, AttemptEnded& event) const;
  ProcessLimits limits_of(const CasePolicy& policy) const;
  // The case that is responsible for the process now.
  const AttemptCase& blamed() const { return of(open_ ? open_->which : 0); }
  void watch_readiness(ProcessSpec& spec);
  std::vector<std::string> devices_and_load() const;
  void gather(int guard_pid, std::function<void()> then);
  std::optional<CrashedProcessEnd> crash_of(const ProcessEnd& end) const;
  void look_at_core(const ProcessEnd& end, const CrashedProcessEnd& crash);
  void take_gathered(Gathered gathered, Clock::time_point begin);
  void take_scratch();
  std::vector<const Case*> tests() const;
  void write_cases();

  void on_line(std::string_view line);
  void on_event(std::string_view line);
  void read_result_file(const ProcessEnd& end);
  std::optional<std::size_t> find_not_begun(const std::string& name) const;
  void begin(std::size_t which, Clock::time_point now);
  // `end` is the end of the process, or null if the process has gone on.
  void conclude(const ProcessEnd* end);
  AttemptEnded describe(const ProcessEnd* end) const;
  TelemetryInfo take_telemetry(const ProcessEnd* end);
  void describe_process(const ProcessEnd& end, AttemptEnded& event) const;
  Verdict judge_case(const ProcessEnd* end) const;
  bool is_leaky(const ProcessEnd& end) const;
  std::vector<std::string> left_by() const;
  void count_start(const ProcessEnd& end);
  void tell_lost_guard(const ProcessEnd& end);
  void tell_frozen();
  void on_process_end(const ProcessEnd& end);
  void finish(const ProcessEnd& end);
  void clean_up(const ProcessEnd& end);

  AttemptContext& context_;
  AttemptPlan plan_;
  std::vector<LeasedAddress> addresses_;  // of the attempt's devices
  KernelLog::Mark process_mark_;          // where its time begins in the kernel log
  OnCaseEnded on_case_ended_;
  OnDone on_done_;
  std::unique_ptr<Translator> translator_;  // for a kind that does not speak the child protocol itself
  ChildReport child_;  // from the open case; from the process before the first case began
  std::optional<Open> open_;
  std::vector<bool> begun_;
  bool no_more_ = false;
  bool starting_ = false;  // its start-up clock runs
  bool ending_ = false;    // the process is being ended: no case begins any more
  bool crashed_ = false;   // the process has ended by a crash, and its core is looked at
  bool another_was_bad_ = false;
  std::optional<RankReports> ranks_;  // of a case with ranks
  std::optional<Readiness> readiness_;
  std::string log_;
  std::string directory_;       // in which the process was started
  std::string scratch_;         // kind proctor: its working directory and TMPDIR
  std::string result_file_;     // of a kind that writes one
  std::string result_refused_;  // why that is not read
  std::string cases_file_;      // of a batch
  std::string rank_plan_;       // for a case with ranks, the supervisor's file
  std::string rendezvous_;      // and the directory that the ranks share
  std::optional<Reason> stop_reason_;
  int stop_signal_ = 0;  // sent by the caller of the run
  std::shared_ptr<ContainedProcess> process_;
  std::shared_ptr<ContainedProcess> gathering_;  // the process that gathers evidence, while it runs
  EvidenceInfo evidence_;
  // The process may outlive an abandoned attempt; its callbacks ask here first.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace proctor
