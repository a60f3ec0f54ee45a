#include "harness/run/schedule/runner.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "harness/devices/leases/device_pool.h"
#include "harness/run/care/telemetry.h"
#include "harness/run/schedule/job_control.h"
#include "harness/run/schedule/run_context.h"
#include "harness/run/schedule/run_stop.h"
#include "harness/run/schedule/running_group.h"
#include "harness/run/schedule/slots.h"

namespace proctor {
namespace {

constexpr auto kTick = std::chrono::milliseconds(200);

// Owns the parts of a run, and connects them.
class Runner {
 public:
  Runner(const RunSetup& setup, const RunPlanned& planned, EventSink& sink)
      : names_(*setup.plan),
        attempts_{.io = io_,
                  .containment = *setup.containment,
                  .sink = sink,
                  .scratch = *setup.scratch,
                  .setup = setup.attempts,
                  .names = names_,
                  .planned = planned,
                  .run_started = Clock::now()},
        pool_(setup.devices->pool, setup.leases ? std::optional(*setup.leases) : std::nullopt, setup.run_id,
              setup.care.retest),
        pending_(setup, pool_),
        ends_(setup, sink,
              [this](std::size_t index, const CaseEnded& ended) { stop_.case_ended(index, ended); }),
        run_{.setup = setup,
             .sink = sink,
             .attempts = attempts_,
             .pool = pool_,
             .pending = pending_,
             .ends = ends_,
             .visits = visits_,
             .verification = verification_},
        stop_(run_, groups_, [this] { leave(); }),
        job_(attempts_, groups_),
        tick_(io_),
        slots_(run_, groups_, [this] { leave(); }),
        visits_(io_, *setup.containment, setup.care, pool_, sink, attempts_.run_started),
        telemetry_(io_, *setup.containment, visits_.monitor(),
                   {.rate = setup.care.telemetry,
                    .tool = {.env = setup.attempts.evidence_environment},
                    .on_silence = [this](const auto& devices,
                                         const std::string& why) { visits_.suspect(devices, why); }},
                   sink) {
    attempts_.telemetry = &telemetry_;
    attempts_.diagnoser.listen([this](const DeviceError& error, const AttemptEnded& ended) {
      visits_.error_logged(error, ended.case_id, !is_bad(ended.verdict.outcome));
    });
    // The terminal told the group of the case alone.
    attempts_.on_stopped = [this] { job_.suspend(JobSignals::Who::kGroup); };
  }

  void run();

 private:
  void tell_beginning();
  void tell_end();
  void arm_tick();
  void leave();

  boost::asio::io_context io_{1};
  LogNames names_;
  AttemptContext attempts_;
  DevicePool pool_;
  PendingCases pending_;
  CaseEnds ends_;
  VerificationTime verification_;
  RunContext run_;
  RunningGroups groups_;
  RunStop stop_;
  JobControl job_;
  boost::asio::steady_timer tick_;
  Slots slots_;
  DeviceVisits visits_;
  Telemetry telemetry_;
};

void Runner::run() {
  tell_beginning();
  stop_.begin();
  pending_.admit([this](const CaseGroup::Finished& refused) { ends_.announce(refused); },
                 [this](std::size_t index, std::size_t parts) { ends_.expect(index, parts); });
  arm_tick();
  if (!pending_.empty()) {
    slots_.begin();
    io_.run();
  }
  hold_stop_signals();
  tell_end();
}

void Runner::tell_beginning() {
  run_.sink.on(attempts_.planned);
  for (const auto& evidence : run_.setup.extras.evidence) run_.sink.on(evidence);
  for (const auto& warning : run_.setup.extras.warnings) run_.sink.on(warning);
  attempts_.containment.watch_frozen_time();
  if (const std::string why = attempts_.containment.why_no_pressure(); !why.empty())
    run_.sink.on(Warning{WarningCode::kPressure,
                         "a case without CPU time cannot be distinguished from a hang: " + why});
}

void Runner::tell_end() {
  for (const auto& error : attempts_.diagnoser.late_device_errors())
    visits_.error_logged(error, "", /*passed=*/true);
  attempts_.cores.remove_others();
  const auto since_start = [&] {
    return std::chrono::duration_cast<Milliseconds>(Clock::now() - attempts_.run_started);
  };
  for (const auto& warning : attempts_.start_costs.proposals(since_start())) run_.sink.on(warning);
  if (run_.setup.extras.at_end) run_.setup.extras.at_end();
  const auto elapsed = since_start();
  run_.sink.on(RunEnded{.finished = utc_now(), .at_ms = elapsed.count()});
}

void Runner::arm_tick() {
  if (!run_.setup.extras.on_tick) return;
  tick_.expires_after(kTick);
  tick_.async_wait([this](const auto& error) {
    if (error) return;
    run_.setup.extras.on_tick();
    stop_.look_at_journal();
    arm_tick();
  });
}

// Ends the loop, once nothing of ours is left on it.
void Runner::leave() {
  job_.end();
  telemetry_.stop([this] { visits_.stop([this] { io_.stop(); }); });
}

}  // namespace

void run_plan(const RunSetup& setup, const RunPlanned& planned, EventSink& sink) {
  Runner(setup, planned, sink).run();
}

}  // namespace proctor
