// Runs a plan: one event loop on one thread, as many cases at once as there are slots and devices to give.
//
//   running --bad verdict, --fail-fast--> finishing: nothing new starts, what runs goes on
//   running --too many machine outcomes in a row--> finishing: what is left is notrun(breaker)
//   running | finishing --deadline--> stopping: TERM to every case, what is left is notrun(budget)
//   running | finishing --INT, TERM, HUP, parent's death--> stopping: forwarded, the rest is
//                                                           notrun(interrupted)
//   stopping --second signal--> killing: KILL to every case
//   stopping | killing --stop budget used up--> processes that do not die are abandoned as unreapable
//   any --nothing runs, nothing can start--> ended
//
// It speaks only through events; it prints nothing and decides no exit code.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/result.h"
#include "harness/devices/health/health_check.h"
#include "harness/devices/telemetry/device_monitor.h"
#include "harness/plan/plan.h"
#include "harness/run/attempt/readiness.h"
#include "harness/run/care/device_pool.h"
#include "harness/run/care/telemetry.h"
#include "harness/run/schedule/breaker.h"

namespace proctor {

class Containment;
class ScratchRoot;

// What the known-failure list makes of a case's verdict.
struct KnownVerdict {
  Verdict verdict;     // xfail, xpass, or the verdict as it was
  std::string source;  // of the matching entry
  std::string note;
};

struct RunSetup {
  const Plan* plan = nullptr;
  RunPlanned planned;  // the first event, see planned.h
  Containment* containment = nullptr;
  ScratchRoot* scratch = nullptr;
  std::vector<PoolDevice> devices;
  // Where the devices are leased from other runs, and how long a case waits for them.
  // None: nobody else can see them.
  std::optional<LeaseDirectory> leases;
  Milliseconds lease_wait{600'000};
  // How the devices are watched; none: nobody can say how they are. `settle`: how long a device may take to
  // come back after a case.
  std::optional<MonitorSetup> monitor;
  Milliseconds settle{60'000};
  // What examines a device on suspicion; none: nothing can. May be empty.
  std::function<std::optional<HealthRequest>(const std::string& device)> health;
  ForeignPolicy foreign = ForeignPolicy::kWait;
  bool reset_sick = false;  // the health requests say how
  // How often the devices of running cases are sampled, and what a vendor's tool needs.
  TelemetrySetup telemetry;
  // Backends that cannot be used here, with the reason of the skip:
  // "xpu" -> "library_missing:libze_loader.so.1".
  std::map<std::string, std::string> unusable;
  // The same for suites of kind proctor only: they use the machine's own runtime, others may bring theirs.
  std::map<std::string, std::string> unusable_by_ours;
  // What the devices of a backend do not have: cases that need it are skipped as needs:NEED.
  std::map<std::string, std::set<std::string>> lacking;
  std::vector<Warning> warnings;  // from before the run; they follow the plan
  std::string run_dir;            // absolute; its logs/ exists

  int repeat = 1;
  bool until_fail = false;
  bool fail_fast = false;
  int breaker = Breaker::kDefault;       // machine outcomes in a row that end the run; 0: none do
  std::optional<Milliseconds> deadline;  // for the whole run
  bool inherit_stdio = false;
  std::optional<ReadyPolicy> ready;  // `exec --ready-regex`
  bool pass_through = false;         // output also goes to the runner's own stdout and stderr
  bool break_commands = false;       // and must not be obeyed there (core/workflow_commands.h)
  std::string evidence_program;      // proctor itself; "": nothing is gathered before a limit ends a case
  std::vector<std::string> evidence_environment;
  std::string rank_supervisor;  // proctor itself, which starts the ranks of a case
  std::vector<std::string> debugger;
  bool watch_parent = false;  // CI=true

  // The environment of a case that holds `devices` (ids), or of one rank of it.
  std::function<Result<std::vector<std::string>>(const Suite&, const std::vector<std::string>& devices)>
      environment;
  // None: no entry matches the case. May be empty.
  std::function<std::optional<KnownVerdict>(const Suite&, const Case&, const Verdict&)> known_failure;
  // Called once, after the last case: what the run has to say at its end. May be empty.
  std::function<std::vector<Warning>()> at_end;
  // Called a few times a second while the run lasts. May be empty.
  std::function<void()> on_tick;
};

struct RunResult {
  // The first signal that stopped the run: raise it again once the reports are written.
  std::optional<int> stop_signal;
};

// On return INT, TERM and HUP are held, so that the reports can be
// completed: release_stop_signals() afterwards.
RunResult run_plan(const RunSetup& setup, EventSink& sink);

}  // namespace proctor
