// What the driver says about devices between cases. After a case, whether they are back, that is, alive and
// without the memory that the case had on them. Before a case, whether somebody else has memory on them.
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

// An error of a device that the kernel logged: whatever its case said.
struct DeviceError {
  std::string device;       // its id
  std::string rule;         // "xid:48"
  bool by_machine = false;  // false: the program caused it
  Gravity severity = Gravity::kError;
  std::string line;
  std::string next;  // what to do
};

enum class Settled {
  kBack,
  kUnknown,  // the state of the device is not known; `detail` says why
  kForeign,  // memory is missing, but processes that are not ours are on the device
  kNotBack,  // memory is missing after the settle time
  kLost,
};
HealthFact fact_of(Settled settled);  // as events have it
// Whether the device gets no more cases.
bool is_unhealthy(Settled settled);

struct DeviceFinding {
  std::string device;
  Settled settled = Settled::kBack;
  Milliseconds waited{0};
  std::uint64_t left_bytes = 0;  // over the baseline; before a case: what others hold
  std::string detail{};          // for kUnknown, only if it is new in this run
  std::string holders{};         // pids of the foreign processes, to recognise them
  bool is_silent = false;        // kUnknown: the driver did not answer, or ended the child that asks it
  bool endured = false;          // they were waited for in vain before; not waited for again
};

// What the run's reports say about a finding after a case; none if the device was simply back.
std::optional<Warning> warning_of(const DeviceFinding& finding, const std::string& case_id);

// The same for a finding before a case.
std::optional<Warning> warning_before(const DeviceFinding& finding, const std::string& case_id);

class DeviceChecks {
 public:
  // Device memory is given out in pages of up to 2 MiB, and drivers keep a few for themselves.
  static constexpr std::uint64_t kGranularity = 4 << 20;

  // `settle`: how long memory may take to come back.
  DeviceChecks(boost::asio::io_context& io, std::unique_ptr<DeviceMonitor> monitor, Milliseconds settle);

  // Reads how much memory is in use before the run's first case. `ready` gets the reason if this failed, or
  // "".
  void begin(std::function<void(const std::string& problem)> ready);
  // How much was in use then, or the least since then; bytes by device.
  const std::map<std::string, std::uint64_t>& baseline() const { return baseline_; }
  // Waits until the devices are back or will not come back. `done` is called from the loop, with one finding
  // per device.
  using OnSettled = std::function<void(const std::vector<DeviceFinding>&)>;
  void settle(const std::vector<std::string>& devices, OnSettled done);
  // Before a case, looks who else has memory on the devices, until nobody has any or until `limit` is over.
  void find_foreign_holders(const std::vector<std::string>& devices, Milliseconds limit, OnSettled done);
  // The same as settle(), checked only once.
  void check(const std::vector<std::string>& devices, OnSettled done);
  // Forgets all callers that wait.
  void forget();
  DeviceMonitor& monitor() const { return *monitor_; }
  // Forgets all callers that wait. `gone` is called when nothing of this object is left on the loop.
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
  std::map<std::string, std::uint64_t> baseline_;           // the least that was ever seen in use, by device
  std::set<std::pair<std::string, std::string>> reported_;  // unknown states already reported: device, why
  std::set<std::pair<std::string, std::string>> endured_;   // device, holders: waited for in vain
  std::list<Waiting> waiting_;
  Alive alive_;
};

// What a run tells of its devices: DeviceHealth events, and as warnings what people must see.
class DeviceNews {
 public:
  DeviceNews(EventSink& sink, Clock::time_point run_started) : sink_(sink), run_started_(run_started) {}

  void note(const std::string& device, HealthFact what, const std::string& case_id,
            const std::string& evidence, Milliseconds waited = {}, std::uint64_t bytes = 0);
  void warn(const Warning& warning) { sink_.on(warning); }
  // Both. Nothing if there is no warning.
  void report_finding(const DeviceFinding& finding, const std::string& case_id,
                      const std::optional<Warning>& warning);
  // True once in a run: for what is to be told only then.
  bool is_new(const std::string& device, const std::string& what) {
    return reported_.emplace(device, what).second;
  }

 private:
  EventSink& sink_;
  Clock::time_point run_started_;
  std::set<std::pair<std::string, std::string>> reported_;  // device, what
};

}  // namespace proctor
