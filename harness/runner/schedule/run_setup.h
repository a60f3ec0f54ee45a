// The settings of a run, given before it begins. A member that is a struct is for one module of the runner.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/admission/device_admission.h"
#include "harness/devices/admission/telemetry.h"
#include "harness/devices/leases/lease.h"
#include "harness/journal/events.h"
#include "harness/plan/plan.h"
#include "harness/runner/attempt/attempt.h"
#include "harness/runner/machine/found_devices.h"
#include "harness/runner/schedule/run_stage.h"

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
  int fail_fast = 0;                             // failures after which no more cases start; 0: any number
  int max_machine_failures = Breaker::kDefault;  // machine outcomes in a row that end the run; 0: none do
  std::optional<Milliseconds> deadline;          // for the whole run
};

// Events from before the run. They follow the plan.
struct RunExtras {
  std::vector<HardwareEvidence> evidence;
  std::vector<Warning> warnings;
};

// What the caller of a run has settled about its cases.
class CaseRules {
 public:
  virtual ~CaseRules() = default;
  // The environment of a case that holds `devices` (ids), or of one rank of it.
  virtual Result<CaseEnvironment> environment(const Suite& suite,
                                              const std::vector<std::string>& devices) = 0;
  // None if no entry of the list matches the case, whose verdict is of an attempt on `devices` (ids).
  virtual std::optional<KnownVerdict> known_failure(const Suite& suite, const Case& test,
                                                    const std::vector<std::string>& devices,
                                                    const Verdict& verdict) = 0;
};

// What goes on beside a run. All calls come from its loop.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  // Called a few times a second while the run lasts.
  virtual void on_tick() = 0;
  // Then no more cases start.
  virtual bool is_journal_full() const = 0;
  // Called once, after the last case, before the end.
  virtual void at_end() = 0;
};

struct RunSetup {
  const Plan* plan = nullptr;
  bool starts_once = false;  // `exec`: no case is tried a second time
  Containment* containment = nullptr;
  ScratchRoot* scratch = nullptr;

  // Its devices. `leases` is where they are leased from other runs; null if nobody else can see them.
  const FoundDevices* devices = nullptr;
  const LeaseDirectory* leases = nullptr;
  Milliseconds lease_wait{600'000};  // how long a case waits for devices that other runs hold
  DeviceCheckSetup device_checks;

  // How its cases are executed.
  AttemptSetup attempts;
  CaseRules* rules = nullptr;  // of the cases; required
  RepeatSetup repeats;

  StopSetup stop;
  RunExtras extras;
  RunWatcher* watcher = nullptr;  // none: nothing goes on beside it

  // Of the plan, by the index of the case.
  const Case& test(std::size_t index) const { return plan->cases[index]; }
  const Suite& suite(std::size_t index) const { return plan->suites[test(index).suite]; }
};

}  // namespace proctor
