#include "harness/runner/schedule/runner.h"

#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <memory>
#include <utility>

#include "harness/devices/admission/telemetry.h"
#include "harness/devices/leases/device_pool.h"
#include "harness/process/contained_process.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/schedule/run_control.h"
#include "harness/runner/schedule/run_stop.h"
#include "harness/runner/schedule/running_groups.h"
#include "harness/runner/schedule/slots.h"

namespace proctor {
namespace {

// Handles the requests of the caller during a run (run_control.h): stop, suspend (Ctrl-Z), and print the state of the
// cases.
class JobControl {
 public:
  JobControl(boost::asio::io_context& io, Containment& containment, const AttemptSetup& setup,
             RunControl& control, RunningGroups& groups, RunStop& stop);
  ~JobControl();
  JobControl(const JobControl&) = delete;
  JobControl& operator=(const JobControl&) = delete;

  // Starts to handle requests. After close(), requests wait in the control.
  void begin();
  void close() { control_.end(); }
  // No time limit counts the time until `fg` (process/frozen_time.h).
  void suspend(RunControl::Suspended what);
  // Ends a running dump.
  void end();

 private:
  void wait();
  void obey(const RunControl::Record& record);
  void dump();

  boost::asio::io_context& io_;
  Containment& containment_;
  const AttemptSetup& setup_;
  RunControl& control_;
  RunningGroups& groups_;
  RunStop& stop_;
  boost::asio::posix::stream_descriptor requests_;
  std::shared_ptr<ContainedProcess> dump_;
};

constexpr Milliseconds kDumpLimit{30'000};

JobControl::JobControl(boost::asio::io_context& io, Containment& containment, const AttemptSetup& setup,
                       RunControl& control, RunningGroups& groups, RunStop& stop)
    : io_(io),
      containment_(containment),
      setup_(setup),
      control_(control),
      groups_(groups),
      stop_(stop),
      requests_(io, control.descriptor()) {}

JobControl::~JobControl() { requests_.release(); }  // the control closes the descriptor

void JobControl::begin() {
  control_.begin();
  wait();
}

void JobControl::wait() {
  requests_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](const auto& error) {
    if (error) return;
    if (const auto record = control_.take()) obey(*record);
    wait();
  });
}

void JobControl::obey(const RunControl::Record& record) {
  switch (record.request) {
    case RunControl::Request::kStop:
      return stop_.on_stop(record.signal, record.cause);
    case RunControl::Request::kSuspend:
      return suspend(RunControl::Suspended::kProcess);
    case RunControl::Request::kDump:
      return dump();
  }
}

void JobControl::suspend(RunControl::Suspended what) {
  groups_.freeze();
  control_.pause(what);
  groups_.thaw();
}

// Prints the state of the cases as another process reads it. It uses stderr, so that no line of a report is cut.
void JobControl::dump() {
  if (dump_ || setup_.own_program.empty()) return;
  ProcessSpec spec;
  spec.argv = {setup_.own_program, "dump", setup_.run_dir};
  spec.env = setup_.evidence_environment;
  spec.reach = Reach::kMachine;
  spec.keep_stdout = true;
  spec.limits.timeout = kDumpLimit;
  spec.limits.grace = Milliseconds(0);
  dump_ = ContainedProcess::start(io_, containment_, std::move(spec), [this](const ProcessEnd& end) {
    dump_.reset();
    std::fputs((end.kept_stdout + end.output.stderr_tail).c_str(), stderr);
  });
}

void JobControl::end() {
  if (dump_) dump_->stop(SIGKILL, Milliseconds(0));
}

constexpr auto kTick = std::chrono::milliseconds(200);

// Owns the parts of a run, and connects them. Each part refers only to parts before it. Later parts are reached through
// callbacks.
class Runner {
 public:
  Runner(const RunSetup& setup, const RunPlanned& planned, RunControl& control, EventSink& sink)
      : setup_(setup),
        events_(sink),
        pool_(setup.devices->pool, setup.leases ? std::optional(*setup.leases) : std::nullopt,
              setup.attempts.run_id, setup.device_checks.retest),
        admission_(io_, *setup.containment, setup.device_checks, pool_, events_, events_.began()),
        telemetry_(io_, *setup.containment, admission_.monitor(),
                   {.rate = setup.device_checks.telemetry,
                    .tool = {.env = setup.attempts.evidence_environment},
                    .on_silence = [this](const auto& devices,
                                         const std::string& why) { admission_.suspect(devices, why); }},
                   events_),
        attempts_(io_, *setup.containment, *setup.scratch,
                  {.setup = setup.attempts, .plan = *setup.plan, .planned = planned}, telemetry_, events_),
        pending_(setup, pool_),
        ends_(setup, events_),
        groups_(setup, stage_, attempts_, pending_, ends_, pool_, admission_),
        stop_(io_, setup, events_, stage_, pending_, ends_, groups_, [this] { leave(); }),
        slots_(io_, setup, events_, pool_, pending_, ends_, groups_, [this] { leave(); }),
        job_(io_, *setup.containment, setup.attempts, control, groups_, stop_),
        tick_(io_) {
    ends_.listen([this](std::size_t index, const CaseEnded& ended) { stop_.case_ended(index, ended); });
    attempts_.observer().listen([this](const DeviceError& error, const AttemptEnded& ended) {
      admission_.error_logged(error, ended.case_id, !is_bad(ended.verdict.outcome));
    });
    // The terminal stopped only the process group of the case.
    groups_.listen([this] { job_.suspend(RunControl::Suspended::kGroup); });
  }

  void run(const RunPlanned& planned);

 private:
  void report_beginning(const RunPlanned& planned);
  void report_end();
  void arm_tick();
  void leave();

  const RunSetup& setup_;
  boost::asio::io_context io_{1};
  RunEvents events_;
  DevicePool pool_;
  DeviceAdmission admission_;
  Telemetry telemetry_;
  Attempts attempts_;
  PendingCases pending_;
  CaseEnds ends_;
  RunStage stage_;
  RunningGroups groups_;
  RunStop stop_;
  Slots slots_;
  JobControl job_;
  boost::asio::steady_timer tick_;
};

void Runner::run(const RunPlanned& planned) {
  job_.begin();
  report_beginning(planned);
  stop_.begin();
  pending_.admit([this](const CaseGroup::Finished& refused) { ends_.announce(refused); },
                 [this](std::size_t index, std::size_t parts) { ends_.expect(index, parts); });
  arm_tick();
  if (!pending_.empty()) {
    slots_.begin();
    admission_.begin([this] { slots_.start_more(); });
    io_.run();
  }
  job_.close();
  report_end();
}

void Runner::report_beginning(const RunPlanned& planned) {
  events_.on(planned);
  for (const auto& evidence : setup_.extras.evidence) events_.on(evidence);
  for (const auto& warning : setup_.extras.warnings) events_.on(warning);
  Containment& containment = *setup_.containment;
  containment.watch_frozen_time();
  if (const std::string why = containment.why_no_pressure(); !why.empty())
    events_.on(Warning{WarningCode::kCpuPressureUnavailable,
                       "a case without CPU time cannot be distinguished from a hang: " + why});
}

void Runner::report_end() {
  for (const auto& error : attempts_.observer().late_device_errors())
    admission_.error_logged(error, "", /*passed=*/true);
  attempts_.end();
  if (setup_.watcher) setup_.watcher->at_end();
  const std::int64_t elapsed = events_.ms_now();
  events_.on(RunEnded{.finished = utc_now(), .at_ms = elapsed});
}

void Runner::arm_tick() {
  if (!setup_.watcher) return;
  tick_.expires_after(kTick);
  tick_.async_wait([this](const auto& error) {
    if (error) return;
    setup_.watcher->on_tick();
    stop_.examine_journal();
    arm_tick();
  });
}

// Ends the loop after the operations of this run on it have ended.
void Runner::leave() {
  job_.end();
  telemetry_.stop([this] { admission_.stop([this] { io_.stop(); }); });
}

}  // namespace

void run_plan(const RunSetup& setup, const RunPlanned& planned, RunControl& control, EventSink& sink) {
  Runner(setup, planned, control, sink).run(planned);
}

}  // namespace proctor
