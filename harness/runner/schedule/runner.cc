#include "harness/runner/schedule/runner.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "harness/devices/care/telemetry.h"
#include "harness/devices/leases/device_pool.h"
#include "harness/runner/schedule/job_control.h"
#include "harness/runner/schedule/run_stop.h"
#include "harness/runner/schedule/running_groups.h"
#include "harness/runner/schedule/slots.h"

namespace proctor {
namespace {

constexpr auto kTick = std::chrono::milliseconds(200);

// Owns the parts of a run, and connects them. Each part refers only to those before it; what comes from a later one is a
// callback.
class Runner {
 public:
  Runner(const RunSetup& setup, const RunPlanned& planned, RunControl& control, EventSink& sink)
      : setup_(setup),
        events_(sink),
        pool_(setup.devices->pool, setup.leases ? std::optional(*setup.leases) : std::nullopt,
              setup.attempts.run_id, setup.care.retest),
        visits_(io_, *setup.containment, setup.care, pool_, events_, events_.began()),
        telemetry_(io_, *setup.containment, visits_.monitor(),
                   {.rate = setup.care.telemetry,
                    .tool = {.env = setup.attempts.evidence_environment},
                    .on_silence = [this](const auto& devices,
                                         const std::string& why) { visits_.suspect(devices, why); }},
                   events_),
        attempts_(io_, *setup.containment, *setup.scratch,
                  {.setup = setup.attempts, .plan = *setup.plan, .planned = planned}, telemetry_, events_),
        pending_(setup, pool_),
        ends_(setup, events_),
        groups_(setup, stage_, attempts_, pending_, ends_, pool_, visits_),
        stop_(io_, setup, events_, stage_, pending_, ends_, groups_, [this] { leave(); }),
        slots_(io_, setup, events_, pool_, pending_, ends_, groups_, [this] { leave(); }),
        job_(io_, *setup.containment, setup.attempts, control, groups_, stop_),
        tick_(io_) {
    ends_.listen([this](std::size_t index, const CaseEnded& ended) { stop_.case_ended(index, ended); });
    attempts_.observer().listen([this](const DeviceError& error, const AttemptEnded& ended) {
      visits_.error_logged(error, ended.case_id, !is_bad(ended.verdict.outcome));
    });
    // The terminal told the group of the case alone.
    groups_.listen([this] { job_.suspend(RunControl::Suspended::kGroup); });
  }

  void run(const RunPlanned& planned);

 private:
  void tell_beginning(const RunPlanned& planned);
  void tell_end();
  void arm_tick();
  void leave();

  const RunSetup& setup_;
  boost::asio::io_context io_{1};
  RunEvents events_;
  DevicePool pool_;
  DeviceVisits visits_;
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
  tell_beginning(planned);
  stop_.begin();
  pending_.admit([this](const CaseGroup::Finished& refused) { ends_.announce(refused); },
                 [this](std::size_t index, std::size_t parts) { ends_.expect(index, parts); });
  arm_tick();
  if (!pending_.empty()) {
    slots_.begin();
    visits_.begin([this] { slots_.start_more(); });
    io_.run();
  }
  job_.close();
  tell_end();
}

void Runner::tell_beginning(const RunPlanned& planned) {
  events_.on(planned);
  for (const auto& evidence : setup_.extras.evidence) events_.on(evidence);
  for (const auto& warning : setup_.extras.warnings) events_.on(warning);
  Containment& containment = *setup_.containment;
  containment.watch_frozen_time();
  if (const std::string why = containment.why_no_pressure(); !why.empty())
    events_.on(Warning{WarningCode::kPressure,
                       "a case without CPU time cannot be distinguished from a hang: " + why});
}

void Runner::tell_end() {
  for (const auto& error : attempts_.observer().late_device_errors())
    visits_.error_logged(error, "", /*passed=*/true);
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

void run_plan(const RunSetup& setup, const RunPlanned& planned, RunControl& control, EventSink& sink) {
  Runner(setup, planned, control, sink).run(planned);
}

}  // namespace proctor
