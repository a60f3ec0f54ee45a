// The settings of a run, given before it begins. A member that is a struct is for one module of the runner.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/result.h"
#include "harness/devices/leases/lease.h"
#include "harness/machine/found_devices.h"
#include "harness/plan/plan.h"
#include "harness/run/attempt/attempt.h"
#include "harness/run/care/device_visits.h"
#include "harness/run/care/telemetry.h"
#include "harness/run/schedule/breaker.h"

namespace proctor {

class Containment;
class ScratchRoot;

// A case's verdict after the known-failure list.
struct KnownVerdict {
  Verdict verdict;        // xfail, xpass, or the same verdict
  std::string source{};   // of the matching entry
  std::string at{};       // where it stands: "known.toml:12"
  std::string warning{};  // the failure was predicted and did not happen; the verdict is the same
};

// In which order cases start, and how many of those that hold no device run at once.
struct OrderSetup {
  bool longest_first = true;  // false: in the planned order
  std::map<std::string, double>
      durations{};        // of earlier runs, in ms, by the id of the case; cases may be missing
  int jobs = 1;           // cases at once
  int most_on_cores = 0;  // 0: as many as `jobs`
};

inline constexpr int kUnlimitedRepeats = std::numeric_limits<int>::max();

// Which executions there are of a case, and in which order.
struct RepeatSetup {
  std::map<std::string, std::string> pins{};  // id of a case -> the only device that it gets
  int repeat = 1;                             // executions of each case
  bool each_device = false;                   // so many on each device
  std::optional<Milliseconds> turns{};        // all cases repeat in turns for this time
  bool excludes_rate = false;                 // a failure counts: no case is retried
  std::map<std::string, int> at_least{};      // id of a case -> its executions, if that is more
  bool until_fail = false;
  OrderSetup order{};

  int of(const std::string& case_id) const {
    const auto more = at_least.find(case_id);
    return more == at_least.end() ? repeat : std::max(repeat, more->second);
  }
};

// What ends a run early.
struct StopSetup {
  int fail_fast = 0;                        // failures after which no more cases start; 0: any number
  int breaker = Breaker::kDefault;          // machine outcomes in a row that end the run; 0: none do
  std::optional<Milliseconds> deadline;     // for the whole run
  bool watch_parent = false;                // CI=true: the parent's death stops the run
  std::function<bool()> journal_is_full{};  // then no more cases start. May be empty
};

// Additional events and callbacks.
struct RunExtras {
  std::vector<HardwareEvidence> evidence;  // from before the run; it follows the plan
  std::vector<Warning> warnings;           // the same
  std::function<void()> on_tick;           // called a few times a second while the run lasts. May be empty
  std::function<void()> at_end;            // called once, after the last case, before the end. May be empty
};

struct RunSetup {
  const Plan* plan = nullptr;
  std::string run_id;
  bool starts_once = false;  // `exec`: no case is tried a second time
  Containment* containment = nullptr;
  ScratchRoot* scratch = nullptr;

  // Its devices. `leases` is where they are leased from other runs; null if nobody else can see them.
  const FoundDevices* devices = nullptr;
  const LeaseDirectory* leases = nullptr;
  Milliseconds lease_wait{600'000};  // how long a case waits for devices that other runs hold
  CareSetup care;

  // How its cases are executed.
  AttemptSetup attempts;
  // The environment of a case that holds `devices` (ids), or of one rank of it.
  std::function<Result<CaseEnvironment>(const Suite&, const std::vector<std::string>& devices)> environment;
  RepeatSetup repeats;
  // None if no entry of the list matches the case, whose verdict is of an attempt on `devices` (ids). May be empty.
  std::function<std::optional<KnownVerdict>(const Suite&, const Case&,
                                            const std::vector<std::string>& devices, const Verdict&)>
      known_failure;

  StopSetup stop;
  RunExtras extras;
};

}  // namespace proctor
