// Admits cases to their devices, and checks the devices after each case. The runner calls enter() before a
// case and leave() after it.
//
// Before a case:  a device whose last holder died is examined. If DeviceCheckSetup::prove is set, each device is examined
//                 before its first case. Foreign processes with memory on the device are reported.
// After a case:   the devices must be back (device_care.h). A suspect device is examined.
//
//   suspect: an attempt was bad, memory was not freed, the driver did not respond to a query, or the kernel logged an
//   error of the device.
//   examined: a contained program copies, computes and compares (harness/devices/health/health_check.h). A device that
//   passes stays in use if its memory is free by then. A device that fails twice is drained, or reset first if the
//   policy allows it. A device that nothing can examine is reported once, and stays in use as "unknown".
//
// Findings become DeviceHealth events. Findings that people must see also become warnings.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/base/alive.h"
#include "harness/devices/admission/device_checks.h"
#include "harness/devices/health/health_check.h"
#include "harness/devices/leases/device_pool.h"
#include "harness/devices/telemetry/device_monitor.h"
#include "harness/journal/events.h"

namespace proctor {

// ---- Examinations of suspect devices, and the consequence for the device ----
//   passed: the device stays in use.  unhealthy: drained, or reset first if the policy allows it (HealthRequest).
//   no examination is possible, or it has no result: if DeviceRules::why_lost() has a reason, the run stops using the
//   device. Otherwise this is reported once, and the device stays in use as "unknown".

class Containment;

// The caller's settings for the devices of a run.
class DeviceRules {
 public:
  virtual ~DeviceRules() = default;
  // Returns how the device is examined; none if that is not possible.
  virtual std::optional<HealthRequest> health_request(const std::string& device) = 0;
  // Returns, in one sentence, why the run can no longer access a device; "" if it can. Called if an
  // examination has no result.
  virtual std::string why_lost(const std::string& device) = 0;
};

// Examines suspect devices with HealthChecks, and drains or retires those that fail.
class Examinations {
 public:
  // `rules`: if null, no device is examined. `monitor` watches the devices: it starts a new child after a
  // reset.
  Examinations(boost::asio::io_context& io, Containment& containment, DeviceRules* rules, DevicePool& pool,
               DeviceNews& news, DeviceMonitor* monitor)
      : rules_(rules), pool_(pool), news_(news), monitor_(monitor), checks_(io, containment) {}

  using Answers = std::map<std::string, HealthAnswer>;
  // Calls `done` with all results: from the loop, or from inside the call if no device can be examined.
  void examine(const std::vector<std::string>& devices, const std::string& case_id,
               std::function<void(const Answers&)> done);
  // Returns false if the device is drained or lost.
  bool judge(const std::string& device, const HealthAnswer& answer, const std::string& case_id);
  // Takes a device out of this run and of every other run.
  void drain(const std::string& device, const std::string& reason, const std::string& evidence,
             const std::string& case_id);

  // Reports, once in a run, that a driver did not respond to a query about the device. See
  // DeviceAdmission::suspect().
  void suspect(const std::string& device, const std::string& why);
  // Requests an examination of the device, after its case or before its next one.
  void suspicion(const std::string& device) { suspects_.insert(device); }
  // Returns true once after such a request.
  bool take_suspicion(const std::string& device) { return suspects_.erase(device) > 0; }

  // Drops all callbacks of waiting callers.
  void give_up();
  void stop(std::function<void()> stopped);

 private:
  std::optional<HealthRequest> request(const std::string& device, const std::string& case_id);
  void report_finding(const std::string& device, HealthFact what, const std::string& case_id,
                      const std::string& words, WarningCode code, const std::string& text);

  HealthAnswer with_access(const std::string& device, const HealthAnswer& answer) const;

  DeviceRules* rules_;
  DevicePool& pool_;
  DeviceNews& news_;
  DeviceMonitor* monitor_;
  HealthChecks checks_;
  std::set<std::string> suspects_;
  Alive alive_;
};

class Containment;

// The action if foreign processes have memory on a device that a case is going to get.
enum class ForeignPolicy {
  kWait,   // wait until they are gone, at most for the settle time; then start the case anyway
  kFail,   // the case is error(device_in_use)
  kOther,  // the case gets another device, or waits for one as for a lease
};

// Settings for the checks of a run's devices.
struct DeviceCheckSetup {
  std::optional<MonitorSetup> monitor;  // how they are watched; none: their state stays unknown
  Milliseconds memory_wait{60'000};     // the longest time until a device is back after a case
  ForeignPolicy device_in_use = ForeignPolicy::kWait;
  int telemetry = 10;            // samples a second
  bool reset = false;            // reset a device that fails its health probe, before draining it
  DeviceRules* rules = nullptr;  // none: a suspect device cannot be examined
  // Examine each device before its first case, even if it is not suspect: the report then proves that the device
  // computes.
  bool prove = false;
  // Use devices that `proctor accept` rejected: they are judged again.
  bool retest = false;
};

// Returns true if an error that this attempt reports persists in its process. Results of later cases in that
// process are then worthless, and earlier cases there may have caused the error.
bool poisons_process(const AttemptEnded& ended);

// Returns true if the end of this attempt makes its devices suspect. `expected`: the failure of the case is
// known.
bool raises_suspicion(const AttemptEnded& ended, bool expected);

// The checks around each case (see the top of this file). One object serves all cases of a run.
class DeviceAdmission {
 public:
  DeviceAdmission(boost::asio::io_context& io, Containment& containment, const DeviceCheckSetup& setup,
                  DevicePool& pool, EventSink& sink, Clock::time_point run_started);
  DeviceAdmission(const DeviceAdmission&) = delete;
  DeviceAdmission& operator=(const DeviceAdmission&) = delete;

  // Reads the state of the devices before the run's first case.
  void begin(std::function<void()> ready);

  // All callbacks come from the loop, or from inside the call if no query is necessary.
  struct Entry {
    bool open = true;  // the case may start
    // if not open: the verdict of the case; none: try it with other devices
    std::optional<Verdict> refused = {};
    std::string note = {};
  };
  using OnEntry = std::function<void(const Entry&)>;
  // `doubt`: examine all of the devices, and not only those whose last holder died.
  void enter(const std::vector<std::string>& devices, const std::string& case_id, bool suspicion,
             OnEntry done);

  struct Left {
    bool any_unhealthy = false;  // at least one device was taken out
    std::string lost = {};       // a device that the driver reports as lost
    std::string unhealthy = {};  // a device that failed its examination
    std::string words = {};      // the text of that examination
  };
  using OnLeft = std::function<void(const Left&)>;
  void leave(const std::vector<std::string>& devices, const std::string& case_id, bool suspicion,
             OnLeft done);

  // See Examinations::drain().
  void drain(const std::string& device, const std::string& reason, const std::string& evidence,
             const std::string& case_id) {
    examinations_.drain(device, reason, evidence, case_id);
  }

  // A driver did not respond to a query about these devices. Each of them is examined after its case or
  // before its next one, once in a run. Otherwise a driver that is only slow would cost an examination for
  // each case.
  void suspect(const std::vector<std::string>& devices, const std::string& why) {
    for (const auto& device : devices) examinations_.suspect(device, why);
  }

  // Reports an error that the kernel logged before the end of a case. If the machine caused it, the device is
  // examined after this case or before its next one. If the program caused it, only a case that passed gets a
  // warning.
  void error_logged(const DeviceError& error, const std::string& case_id, bool passed);

  // The monitor that watches the devices; null if they cannot be watched.
  DeviceMonitor* monitor() const { return device_checks_ ? &device_checks_->monitor() : nullptr; }

  // Calls back all waiting callers: no case may enter, and the state of devices after a case stays unknown.
  void give_up();
  // Calls `stopped`, from the loop, when the loop no longer uses this object.
  void stop(std::function<void()> stopped);

 private:
  // One call of enter() or leave() whose callback is pending.
  struct Admission {
    std::vector<std::string> devices;
    std::string case_id;
    OnEntry entry = {};
    OnLeft left = {};
    Left result = {};
    std::vector<DeviceFinding> not_back = {};  // to be examined before the last check
  };
  using AdmissionIterator = std::list<Admission>::iterator;
  using Answers = Examinations::Answers;

  void after_dirty(AdmissionIterator admission, const Answers& answers);
  void find_foreign_holders(AdmissionIterator admission);
  void judge_holders(AdmissionIterator admission, const std::vector<DeviceFinding>& findings);
  void apply_policy(AdmissionIterator admission, const std::vector<DeviceFinding>& foreign);
  void after_waiting(AdmissionIterator admission, const std::vector<DeviceFinding>& findings);
  void suspect_silent(const std::vector<DeviceFinding>& findings);
  bool drain_lost(AdmissionIterator admission, const std::vector<DeviceFinding>& findings);
  void enter_now(AdmissionIterator admission, const Entry& entry);

  void after_settling(AdmissionIterator admission, const std::vector<DeviceFinding>& findings,
                      bool suspicion);
  void after_suspicion(AdmissionIterator admission, const Answers& answers);
  void last_word(AdmissionIterator admission, const std::vector<DeviceFinding>& findings);
  void leave_now(AdmissionIterator admission);

  const DeviceCheckSetup& setup_;
  DevicePool& pool_;
  DeviceNews news_;
  std::unique_ptr<DeviceChecks> device_checks_;  // null: no device can be watched
  Examinations examinations_;
  std::list<Admission> admission_;
  std::set<std::string> proven_;  // devices examined for DeviceCheckSetup::prove
};

}  // namespace proctor
