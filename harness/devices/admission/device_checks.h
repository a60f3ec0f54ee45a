// Checks the state of devices between cases, as the driver reports it. After a case, a device must be back:
// it responds, and the memory that the case used is free. Before a case, the check finds foreign processes
// with memory on the device. DeviceAdmission calls this; it only reads, and neither drains nor resets a device.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/alive.h"
#include "harness/base/clock.h"
#include "harness/devices/telemetry/device_monitor.h"
#include "harness/journal/event_words.h"
#include "harness/journal/events.h"
#include "harness/process/proc_reader.h"

namespace proctor {

// An error of a device in the kernel log, regardless of the result of its case.
struct DeviceError {
  std::string device;       // its id
  std::string rule;         // "xid:48"
  bool by_machine = false;  // false: the tested program caused it
  Gravity severity = Gravity::kError;
  std::string line;
  std::string next;  // what to do
};

// The state of a device after a wait.
enum class Settled {
  kBack,
  kUnknown,  // the state of the device is unknown; `detail` has the reason
  kForeign,  // memory is missing, but foreign processes are on the device
  kNotBack,  // memory is missing after the settle time
  kLost,
};
HealthFact fact_of(Settled settled);  // the same fact in events
// Returns true if the device gets no more cases.
bool is_unhealthy(Settled settled);

// The result of the check of one device.
struct DeviceFinding {
  std::string device;
  Settled settled = Settled::kBack;
  Milliseconds waited{0};
  std::uint64_t left_bytes = 0;  // above the baseline; before a case: bytes of foreign processes
  std::string detail{};          // for kUnknown, only if it is new in this run
  std::string holders{};         // pids of the foreign processes, to recognise them later
  bool is_silent = false;        // kUnknown: the driver did not respond, or ended the child that queries it
  // an earlier wait for these processes was in vain, so no case waits for them again
  bool endured = false;
};

// The warning about a finding after a case; none if the device was back at once.
std::optional<Warning> warning_of(const DeviceFinding& finding, const std::string& case_id);

// The same for a finding before a case.
std::optional<Warning> warning_before(const DeviceFinding& finding, const std::string& case_id);

// Waits until the devices of a case are free again, with a monitor that takes snapshots of their state.
// DeviceAdmission uses it before and after each case.
class DeviceChecks {
 public:
  // Drivers allocate device memory in pages of up to 2 MiB, and keep a few pages themselves.
  static constexpr std::uint64_t kGranularity = 4 << 20;

  // `settle`: the longest time that freed memory may take to become available.
  DeviceChecks(boost::asio::io_context& io, std::unique_ptr<DeviceMonitor> monitor, Milliseconds settle);

  // Reads how much memory is in use before the first case of the run. `ready` gets the reason of a failure,
  // or "".
  void begin(std::function<void(const std::string& problem)> ready);
  // The memory in use at that time, or the smallest value since then; bytes by device.
  const std::map<std::string, std::uint64_t>& baseline() const { return baseline_; }
  // Waits until the devices are back, or until the settle time is over. `done` is called from the loop, with
  // one finding per device.
  using OnSettled = std::function<void(const std::vector<DeviceFinding>&)>;
  void settle(const std::vector<std::string>& devices, OnSettled done);
  // Before a case, waits until no foreign process has memory on the devices, at most for `limit`.
  void find_foreign_holders(const std::vector<std::string>& devices, Milliseconds limit, OnSettled done);
  // Like settle(), with a single snapshot.
  void check(const std::vector<std::string>& devices, OnSettled done);
  // Drops all waiting callbacks.
  void forget();
  DeviceMonitor& monitor() const { return *monitor_; }
  // Drops all waiting callbacks. `stopped` is called when the loop no longer uses this object.
  void stop(std::function<void()> stopped);

 private:
  using Find = DeviceFinding (DeviceChecks::*)(const std::string& device, const DeviceState& state);
  struct Waiting {
    std::vector<std::string> devices;
    Find find;
    Milliseconds limit;
    OnSettled done;
    Clock::time_point began;
    boost::asio::steady_timer next;
  };
  using Wait = std::list<Waiting>::iterator;

  void wait_for(const std::vector<std::string>& devices, Find find, Milliseconds limit, OnSettled done);
  void check_again(Wait wait);
  void judge(Wait wait, const DeviceMonitor::Snapshot& snapshot);
  DeviceFinding unknown(const std::string& device, const std::string& why);
  DeviceFinding find(Find find, const std::string& device, const DeviceMonitor::Snapshot& snapshot);
  DeviceFinding find_left(const std::string& device, const DeviceState& state);
  DeviceFinding find_holders(const std::string& device, const DeviceState& state);

  boost::asio::io_context& io_;
  std::unique_ptr<DeviceMonitor> monitor_;
  ProcReader reader_;
  Milliseconds settle_;
  std::map<std::string, std::uint64_t> baseline_;           // the smallest value ever in use, by device
  std::set<std::pair<std::string, std::string>> reported_;  // reported unknown states: device, reason
  // device, holders: processes for which a wait was in vain
  std::set<std::pair<std::string, std::string>> endured_;
  std::list<Waiting> waiting_;
  Alive alive_;
};

// Reports the findings about the devices of a run as DeviceHealth events. Findings that people must see are
// also warnings.
class DeviceNews {
 public:
  DeviceNews(EventSink& sink, Clock::time_point run_started) : sink_(sink), run_started_(run_started) {}

  void note(const std::string& device, HealthFact what, const std::string& case_id,
            const std::string& evidence, Milliseconds waited = {}, std::uint64_t bytes = 0);
  void warn(const Warning& warning) { sink_.on(warning); }
  // Emits the event and the warning. Does nothing if `warning` is empty.
  void report_finding(const DeviceFinding& finding, const std::string& case_id,
                      const std::optional<Warning>& warning);
  // Returns true at the first call with these values, so that a message appears only once in a run.
  bool is_new(const std::string& device, const std::string& what) {
    return reported_.emplace(device, what).second;
  }

 private:
  EventSink& sink_;
  Clock::time_point run_started_;
  std::set<std::pair<std::string, std::string>> reported_;  // device, what
};

}  // namespace proctor
