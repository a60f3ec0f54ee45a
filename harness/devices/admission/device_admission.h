// What stands between a case and its devices.
//
// Before a case:  a device whose last holder died is examined, and where it was asked for each device before its first
//                 case; others with memory on it are named.
// After a case:   the devices must be back (device_checks.h); a device in doubt is examined.
//
//   doubt: an attempt was bad, memory did not come back, the driver did not answer when it was asked, or the kernel logged
//   an error of the device.
//   examined: a contained program copies, computes and compares (harness/devices/health/health_check.h). A
//   device that passes goes on, if its memory is back by then; one that fails twice is drained, or reset
//   first where the policy allows it. If nothing can examine it, this is said once, and the device goes on
//   as "unknown".
//
// It tells what it finds as DeviceHealth events, and what people must see as warnings.
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

// ---- Examinations of devices in doubt, and what becomes of a device by their answers ----
//   passed: it goes on.  sick: drained, or reset first where the policy allows it (HealthRequest).
//   nothing can examine it, or the examination says nothing: if something keeps this run from it, the run stops using it;
//   else this is said once, and it goes on as "unknown".

class Containment;

// What the caller of a run has settled about its devices.
class DeviceRules {
 public:
  virtual ~DeviceRules() = default;
  // How the device is examined; none if that is not possible.
  virtual std::optional<HealthRequest> health_request(const std::string& device) = 0;
  // What keeps the run from a device that it had, in one sentence; "" nothing does. Asked where an examination says
  // nothing.
  virtual std::string why_lost(const std::string& device) = 0;
};

class Examinations {
 public:
  // `rules`: null: nothing is examined. `monitor` watches the devices: it reads anew one that was reset.
  Examinations(boost::asio::io_context& io, Containment& containment, DeviceRules* rules, DevicePool& pool,
               DeviceNews& news, DeviceMonitor* monitor)
      : rules_(rules), pool_(pool), news_(news), monitor_(monitor), checks_(io, containment) {}

  using Answers = std::map<std::string, HealthAnswer>;
  // `done` is called with all answers: from the loop, or from inside if nothing can be examined.
  void examine(const std::vector<std::string>& devices, const std::string& case_id,
               std::function<void(const Answers&)> done);
  // False if the device is drained, or lost.
  bool judge(const std::string& device, const HealthAnswer& answer, const std::string& case_id);
  // Takes a device out of this run and of every other.
  void drain(const std::string& device, const std::string& reason, const std::string& evidence,
             const std::string& case_id);

  // A driver did not answer when it was asked about the device. Once in a run, see DeviceAdmission::suspect().
  void suspect(const std::string& device, const std::string& why);
  // Has the device examined after its case or before its next one.
  void suspicion(const std::string& device) { suspects_.insert(device); }
  // Whether it is to be examined for that: true once.
  bool take_suspicion(const std::string& device) { return suspects_.erase(device) > 0; }

  // Calls nobody back who waits.
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

// What happens when foreign processes have memory on a device that a case is going to get.
enum class ForeignPolicy {
  kWait,   // waits until they are gone, at most for the settle time; then the case starts beside them
  kFail,   // the case is error(device_in_use)
  kOther,  // the case gets another device, or waits for one as for a lease
};

// How the devices of a run are looked after.
struct DeviceCheckSetup {
  std::optional<MonitorSetup> monitor;  // how they are watched; none: their state cannot be known
  Milliseconds memory_wait{60'000};     // how long a device may take to come back after a case
  ForeignPolicy device_in_use = ForeignPolicy::kWait;
  int telemetry = 10;            // samples a second
  bool reset = false;            // a device that fails its health probe is reset before it is drained
  DeviceRules* rules = nullptr;  // none: a device under suspicion cannot be examined
  // Each device is examined before its first case, also without a doubt: the report then says that it computes.
  bool prove = false;
  // Devices that failed in `proctor accept` are used: they are tested again.
  bool retest = false;
};

// Whether an error that this attempt reports stays in its process: what other cases do there later says nothing, and what
// they did before may have led to it.
bool poisons_process(const AttemptEnded& ended);

// Whether the way in which this attempt ended leaves a doubt about its devices. `expected`: that it fails is known.
bool raises_suspicion(const AttemptEnded& ended, bool expected);

class DeviceAdmission {
 public:
  DeviceAdmission(boost::asio::io_context& io, Containment& containment, const DeviceCheckSetup& setup,
                  DevicePool& pool, EventSink& sink, Clock::time_point run_started);
  DeviceAdmission(const DeviceAdmission&) = delete;
  DeviceAdmission& operator=(const DeviceAdmission&) = delete;

  // Reads the state of the devices before the run's first case.
  void begin(std::function<void()> ready);

  // All callbacks come from the loop, or from inside the call if nothing has to be asked.
  struct Entry {
    bool open = true;                     // the case may start
    std::optional<Verdict> refused = {};  // if not: its verdict; none: try it with other devices
    std::string note = {};
  };
  using OnEntry = std::function<void(const Entry&)>;
  // `doubt`: all of them are examined, and not only those whose last holder died.
  void enter(const std::vector<std::string>& devices, const std::string& case_id, bool suspicion,
             OnEntry done);

  struct Left {
    bool any_unhealthy = false;  // some device was taken out
    std::string lost = {};       // a device that the driver says is lost
    std::string unhealthy = {};  // a device that was found unhealthy by its examination
    std::string words = {};      // of that examination
  };
  using OnLeft = std::function<void(const Left&)>;
  void leave(const std::vector<std::string>& devices, const std::string& case_id, bool suspicion,
             OnLeft done);

  // As Examinations::drain().
  void drain(const std::string& device, const std::string& reason, const std::string& evidence,
             const std::string& case_id) {
    examinations_.drain(device, reason, evidence, case_id);
  }

  // A driver did not answer when it was asked about these devices: each is examined after its case or before its next
  // one, once in a run. A driver that is only slow would cost an examination for each case otherwise.
  void suspect(const std::vector<std::string>& devices, const std::string& why) {
    for (const auto& device : devices) examinations_.suspect(device, why);
  }

  // Reports an error that the kernel logged by the end of a case. If the machine caused it, the device is examined after
  // this case or before its next one. If the program caused it, only a case that passed gets a warning.
  void error_logged(const DeviceError& error, const std::string& case_id, bool passed);

  // Watches the devices; null if nothing can.
  DeviceMonitor* monitor() const { return device_checks_ ? &device_checks_->monitor() : nullptr; }

  // Answers everybody who waits: no case may enter, and nothing is known about the devices after a case.
  void give_up();
  // Calls `gone`, from the loop, when nothing of this object is left on it.
  void stop(std::function<void()> stopped);

 private:
  // One call of enter() or leave() that is not answered yet.
  struct Admission {
    std::vector<std::string> devices;
    std::string case_id;
    OnEntry entry = {};
    OnLeft left = {};
    Left result = {};
    std::vector<DeviceFinding> not_back = {};  // to be examined before the final word on them
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
  std::unique_ptr<DeviceChecks> device_checks_;  // none: there are no devices that can be watched
  Examinations examinations_;
  std::list<Admission> admission_;
  std::set<std::string> proven_;  // examined for DeviceCheckSetup::prove
};

}  // namespace proctor
