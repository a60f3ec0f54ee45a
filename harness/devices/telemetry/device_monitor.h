// Reads the state of the devices of a run. Each vendor has one child (`ProbeMonitor`), so the devices of one
// vendor stay readable when the driver of the other hangs. DeviceChecks and Telemetry use this; it only reads.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/alive.h"
#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/base/unique_fd.h"
#include "harness/devices/telemetry/telemetry_sample.h"
#include "harness/process/fair_time.h"

namespace proctor {

// ---- The devices of one vendor ----
// They are read repeatedly during a run. A contained child (a probe with --monitor) keeps the management
// interface open, so that each reading costs a message and not the start of a driver. A driver that hangs
// costs one deadline, and the next reading starts a new child.

class ContainedProcess;
class Containment;
struct ProcessEnd;

// A process with memory on a device.
struct DeviceHolder {
  int pid = 0;
  std::uint64_t bytes = 0;
};

// The state of one device in a snapshot.
struct DeviceState {
  std::string state;  // "ok", "lost", or the error code of the driver; "": unknown, see `problem`
  std::string problem{};
  bool is_silent = false;  // the driver did not respond in time, or ended the child that queries it
  std::optional<std::uint64_t> used_bytes;
  std::optional<std::vector<DeviceHolder>> holders;  // none: the driver does not report them
};

// The child of one vendor: its command, devices and deadlines.
struct ProbeMonitorSetup {
  std::vector<std::string> argv;  // the probe, preceded by the words of a launcher
  std::vector<std::string> env;   // NAME=VALUE: the environment of the probe that found the devices
  std::string fifo;               // a path that does not exist yet
  std::vector<std::string> ids;   // ids of the devices, in the probe's order
  Milliseconds deadline{10'000};
  Milliseconds sample_deadline{3'000};
};

// Queries the devices of one vendor through one child, which it starts at the first request and after a
// failure.
class ProbeMonitor {
 public:
  // In the order of ProbeMonitorSetup::ids.
  using Snapshot = Result<std::vector<DeviceState>>;
  using OnSnapshot = std::function<void(const Snapshot&)>;

  ProbeMonitor(boost::asio::io_context& io, Containment& containment, ProbeMonitorSetup setup);
  ~ProbeMonitor();
  ProbeMonitor(const ProbeMonitor&) = delete;
  ProbeMonitor& operator=(const ProbeMonitor&) = delete;

  const std::vector<std::string>& ids() const { return setup_.ids; }
  // Takes a snapshot that begins after this call. `on_snapshot` is called from the loop.
  void take_snapshot(OnSnapshot on_snapshot);
  // Takes one telemetry sample of those devices. Pending snapshots come first.
  using OnSample = std::function<void(const Result<Sample>&)>;
  void sample(const std::vector<std::string>& ids, OnSample on_sample);
  // Call this after a reset of a device. The state in the child is then out of date, so a new child handles
  // all later requests.
  void renew() { stale_ = true; }
  // Ends the child and calls `stopped`, from the loop, when it has ended. Pending snapshots are dropped.
  void stop(std::function<void()> stopped);

 private:
  // A request to the child for telemetry.
  struct SampleRequest {
    std::string bytes;
    OnSample on_sample;
  };

  bool start();
  bool is_requesting() const { return !requested_.empty() || sampling_; }
  void send_request();
  void send(const std::string& request, Milliseconds deadline);
  void await_answer(Milliseconds deadline);
  void on_line(std::string_view line);
  void answer(const Snapshot& snapshot);
  void answer_sample(const Result<Sample>& sample);
  void give_up(const std::string& why);
  void end_child();

  boost::asio::io_context& io_;
  Containment& containment_;
  ProbeMonitorSetup setup_;
  boost::asio::steady_timer deadline_;
  std::optional<Patience> patience_;  // time that the child has had since the last request
  UniqueFd requests_;
  std::shared_ptr<ContainedProcess> process_;
  std::vector<OnSnapshot> requested_;  // callers of the snapshot under way
  std::vector<OnSnapshot> waiting_;    // callers of the next snapshot
  std::optional<OnSample> sampling_;
  std::deque<SampleRequest> samples_waiting_;
  std::function<void()> stopped_;
  bool stale_ = false;
  Alive received_;  // the current child: messages of an earlier child are ignored
};

// Returns true if the snapshot or sample failed because no response came, and false if the response itself
// reported a failure.
inline bool is_silence(const Error& error) { return error.kind == ErrorKind::kSystem; }

// Parses one line of the child.
ProbeMonitor::Snapshot parse_snapshot(std::string_view line, std::size_t devices);

// ---- All devices ----

// The children of all vendors.
struct MonitorSetup {
  std::vector<ProbeMonitorSetup> probes;
};

// Combines the monitors of all vendors behind one list of ids.
class DeviceMonitor {
 public:
  // One state per device, in the order of ids(). Devices whose child does not respond have a `problem`. It is
  // an error if no child responds.
  using Snapshot = ProbeMonitor::Snapshot;
  using OnSnapshot = ProbeMonitor::OnSnapshot;
  using OnSample = ProbeMonitor::OnSample;

  DeviceMonitor(boost::asio::io_context& io, Containment& containment, MonitorSetup setup);

  // The ids of all devices, vendor by vendor.
  const std::vector<std::string>& ids() const { return ids_; }
  // Takes a snapshot that begins after this call. `on_snapshot` is called from the loop.
  void take_snapshot(const OnSnapshot& on_snapshot);
  // Takes one telemetry sample of devices of one vendor.
  void sample(const std::vector<std::string>& ids, OnSample on_sample);
  // Call this after a reset of a device. The state in the children is then out of date, so new children
  // handle all later requests.
  void renew();
  // Ends the children and calls `stopped`, from the loop, when they have ended. Pending snapshots are dropped.
  void stop(std::function<void()> stopped);

 private:
  ProbeMonitor* probe_of(const std::string& id) const;

  boost::asio::io_context& io_;
  std::vector<std::unique_ptr<ProbeMonitor>> probes_;
  std::vector<std::string> ids_;
};

}  // namespace proctor
