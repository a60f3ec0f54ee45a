// The settings of a run. prepare() and finish_run() set them before the run begins, and run_plan() reads them. Each
// member struct belongs to one module of the runner.
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

// The verdict of a case after the known-failure list was applied.
struct KnownVerdict {
  Verdict verdict;        // xfail, xpass, or the same verdict
  std::string source{};   // the source of the matching entry
  std::string at{};       // its location: "known.toml:12"
  std::string warning{};  // set if a predicted failure did not occur; the verdict is then unchanged
};

// The start order of cases, and how many cases without a device run at once.
struct OrderSetup {
  bool longest_first = true;  // false: the planned order
  std::map<std::string, double>
      durations{};        // from earlier runs, in ms, by the id of the case; some cases may be missing
  int jobs = 1;           // concurrent cases
  int most_on_cores = 0;  // 0: the same as `jobs`
};

inline constexpr int kUnlimitedRepeats = std::numeric_limits<int>::max();

// The number of executions of each case, and their order.
struct RepeatSetup {
  std::map<std::string, std::string> pins{};  // id of a case -> the only device that it gets
  int repeat = 1;                             // executions of each case
  bool each_device = false;                   // `repeat` executions on each device
  std::optional<Milliseconds> turns{};        // all cases repeat in turns for this time
  bool excludes_rate = false;                 // each failure counts: no case is retried
  std::map<std::string, int> at_least{};      // id of a case -> its executions, if this is more than `repeat`
  bool until_fail = false;
  OrderSetup order{};

  int of(const std::string& case_id) const {
    const auto more = at_least.find(case_id);
    return more == at_least.end() ? repeat : std::max(repeat, more->second);
  }
};

// Conditions that end a run early.
struct StopSetup {
  int fail_fast = 0;                             // failures after which no more cases start; 0: no limit
  int max_machine_failures = Breaker::kDefault;  // machine outcomes in a row that end the run; 0: no limit
  std::optional<Milliseconds> deadline;          // time limit of the whole run
};

// Events from before the run. The run sends them after the plan.
struct RunExtras {
  std::vector<HardwareEvidence> evidence;
  std::vector<Warning> warnings;
};

// Rules of the caller for the cases: their environments and their known failures. finish_run() implements them.
class CaseRules {
 public:
  virtual ~CaseRules() = default;
  // Returns the environment of a case that holds `devices` (ids), or of one of its ranks.
  virtual Result<CaseEnvironment> environment(const Suite& suite,
                                              const std::vector<std::string>& devices) = 0;
  // Applies the known-failure list to the verdict of an attempt on `devices` (ids). Returns nothing if no entry matches
  // the case.
  virtual std::optional<KnownVerdict> known_failure(const Suite& suite, const Case& test,
                                                    const std::vector<std::string>& devices,
                                                    const Verdict& verdict) = 0;
};

// Periodic work of the caller during a run. All calls come from the loop of the run.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  // Called a few times a second while the run lasts.
  virtual void on_tick() = 0;
  // No more cases start after it returns true.
  virtual bool is_journal_full() const = 0;
  // Called once, after the last case and before the end of the run.
  virtual void at_end() = 0;
};

// All settings of a run.
struct RunSetup {
  const Plan* plan = nullptr;
  bool starts_once = false;  // `exec`: no case is retried
  Containment* containment = nullptr;
  ScratchRoot* scratch = nullptr;

  // Devices. `leases` is the directory of leases that all runs share; null if no other run can see the devices.
  const FoundDevices* devices = nullptr;
  const LeaseDirectory* leases = nullptr;
  Milliseconds lease_wait{600'000};  // the longest wait of a case for devices that other runs hold
  DeviceCheckSetup device_checks;

  // Execution of the cases.
  AttemptSetup attempts;
  CaseRules* rules = nullptr;  // required
  RepeatSetup repeats;

  StopSetup stop;
  RunExtras extras;
  RunWatcher* watcher = nullptr;  // null: no periodic work

  // `index` is the index of the case in the plan.
  const Case& test(std::size_t index) const { return plan->cases[index]; }
  const Suite& suite(std::size_t index) const { return plan->suites[test(index).suite]; }
};

}  // namespace proctor
