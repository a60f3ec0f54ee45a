// The state of the devices of a run. There is one child for each vendor (`ProbeMonitor`), so that the
// devices of one vendor stay known when the driver of the other hangs.
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
// They are read repeatedly while a run lasts. A contained child (a probe with --monitor) holds the
// management interface open, so that each reading costs a message and not the start of a driver. A driver
// that hangs costs one deadline; the next reading starts a new child.

class ContainedProcess;
class Containment;
struct ProcessEnd;

struct DeviceHolder {
  int pid = 0;
  std::uint64_t bytes = 0;
};

struct DeviceState {
  std::string state;  // "ok", "lost", or the code that the driver answers; "": nobody knows, see `problem`
  std::string problem{};
  bool is_silent = false;  // the driver did not answer in time, or ended the child that asks
  std::optional<std::uint64_t> used_bytes;
  std::optional<std::vector<DeviceHolder>> holders;  // none: the driver does not say
};

struct ProbeMonitorSetup {
  std::vector<std::string> argv;  // the probe, with the words that must stand before it
  std::vector<std::string> env;   // NAME=VALUE, that of the probe which found the devices
  std::string fifo;               // a path that does not exist yet
  std::vector<std::string> ids;   // of the devices, in the probe's order
  Milliseconds deadline{10'000};
  Milliseconds sample_deadline{3'000};
};

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
  // A snapshot that begins after this call; `on_snapshot` is called from the loop.
  void take_snapshot(OnSnapshot on_snapshot);
  // One telemetry sample of those devices. Snapshots are answered before it.
  using OnSample = std::function<void(const Result<Sample>&)>;
  void sample(const std::vector<std::string>& ids, OnSample on_sample);
  // Call this after a device was reset. What the child knows is then out of date, so a new child answers from
  // now on.
  void renew() { stale_ = true; }
  // Ends the child and calls `gone`, from the loop, when it has ended. Snapshots under way are forgotten.
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
  std::optional<Patience> patience_;  // with the child, since the last request
  UniqueFd requests_;
  std::shared_ptr<ContainedProcess> process_;
  std::vector<OnSnapshot> requested_;  // answered by the snapshot under way
  std::vector<OnSnapshot> waiting_;    // by the next one
  std::optional<OnSample> sampling_;
  std::deque<SampleRequest> samples_waiting_;
  std::function<void()> stopped_;
  bool stale_ = false;
  Alive received_;  // the current child: messages of an earlier one are ignored
};

// Whether it is for want of an answer that a snapshot or a sample failed, and not for what the answer says.
inline bool is_silence(const Error& error) { return error.kind == ErrorKind::kSystem; }

// One answer of the child.
ProbeMonitor::Snapshot parse_snapshot(std::string_view line, std::size_t devices);

// ---- All devices ----

struct MonitorSetup {
  std::vector<ProbeMonitorSetup> probes;
};

class DeviceMonitor {
 public:
  // In the order of ids(). Devices whose child does not answer have a `problem`; an error when none answers.
  using Snapshot = ProbeMonitor::Snapshot;
  using OnSnapshot = ProbeMonitor::OnSnapshot;
  using OnSample = ProbeMonitor::OnSample;

  DeviceMonitor(boost::asio::io_context& io, Containment& containment, MonitorSetup setup);

  // The ids of all devices, vendor by vendor.
  const std::vector<std::string>& ids() const { return ids_; }
  // A snapshot that begins after this call; `on_snapshot` is called from the loop.
  void take_snapshot(const OnSnapshot& on_snapshot);
  // One telemetry sample of devices of one vendor.
  void sample(const std::vector<std::string>& ids, OnSample on_sample);
  // Call this after a device was reset. What the children know is then out of date, so new children answer
  // from now on.
  void renew();
  // Ends the children and calls `gone`, from the loop, when they have ended. Snapshots under way are
  // forgotten.
  void stop(std::function<void()> stopped);

 private:
  ProbeMonitor* probe_of(const std::string& id) const;

  boost::asio::io_context& io_;
  std::vector<std::unique_ptr<ProbeMonitor>> probes_;
  std::vector<std::string> ids_;
};

}  // namespace proctor
