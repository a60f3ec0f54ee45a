// Examinations of devices in doubt, and what becomes of a device by their answers.
//
//   passed: it goes on.  sick: drained, or reset first where the policy allows it (HealthRequest).
//   nothing can examine it, or the examination says nothing: if something keeps this run from it, the run stops using it;
//   else this is said once, and it goes on as "unknown".
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/base/alive.h"
#include "harness/devices/care/device_news.h"
#include "harness/devices/health/health_check.h"
#include "harness/devices/leases/device_pool.h"
#include "harness/devices/telemetry/device_monitor.h"

namespace proctor {

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

  // A driver did not answer when it was asked about the device. Once in a run, see DeviceVisits::suspect().
  void suspect(const std::string& device, const std::string& why);
  // Has the device examined after its case or before its next one.
  void doubt(const std::string& device) { suspects_.insert(device); }
  // Whether it is to be examined for that: true once.
  bool take_suspicion(const std::string& device) { return suspects_.erase(device) > 0; }

  // Calls nobody back who waits.
  void give_up();
  void stop(std::function<void()> gone);

 private:
  std::optional<HealthRequest> request(const std::string& device, const std::string& case_id);
  void tell(const std::string& device, HealthFact what, const std::string& case_id, const std::string& words,
            WarningCode code, const std::string& text);

  HealthAnswer with_access(const std::string& device, const HealthAnswer& answer) const;

  DeviceRules* rules_;
  DevicePool& pool_;
  DeviceNews& news_;
  DeviceMonitor* monitor_;
  HealthChecks checks_;
  std::set<std::string> suspects_;
  Alive alive_;
};

}  // namespace proctor
