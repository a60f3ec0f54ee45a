// The state of the devices of a run. There is one child for each vendor (probe_monitor.h), so that the
// devices of one vendor stay known when the driver of the other hangs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/devices/telemetry/probe_monitor.h"

namespace proctor {

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
  void stop(std::function<void()> gone);

 private:
  ProbeMonitor* probe_of(const std::string& id) const;

  boost::asio::io_context& io_;
  std::vector<std::unique_ptr<ProbeMonitor>> probes_;
  std::vector<std::string> ids_;
};

}  // namespace proctor
