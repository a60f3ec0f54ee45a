// Judges a bad attempt (harness/classify/) with data that only the runner has: the kernel log of its time,
// the addresses of its devices, and the other processes here. It finds the errors in the kernel
// log of the devices of each attempt, good or bad.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/devices/admission/device_checks.h"
#include "harness/journal/events.h"
#include "harness/process/evidence/kernel_log.h"

namespace proctor {

struct LeasedAddress {
  std::string id;
  std::string pci;  // "": not known
};

struct KernelEvidence {
  std::vector<std::string> lines;  // about the devices, since the mark
  std::string gap;                 // why lines may be missing, with how to allow reading them; or ""
};

// Since the machine started (/proc/vmstat, oom_kill).
std::uint64_t count_oom_kills();

class Diagnoser {
 public:
  using Devices = std::vector<LeasedAddress>;

  explicit Diagnoser(KernelLog log = KernelLog::from_environment()) : log_(std::move(log)) {}

  // The devices that PROCTOR_DEVICES names. The host's kernel log says nothing about simulated devices, so
  // they have no address unless a file stands in for the log.
  Devices devices_in(const std::vector<std::string>& environment) const;

  // Marks the start of an attempt's time.
  KernelLog::Position position() { return log_.position(); }

  KernelEvidence evidence(KernelLog::Position since, const Devices& devices);

  // Returns the errors of each device since the last call for this device, or else since `since`. Each device with an
  // address costs one read of the log.
  std::vector<DeviceError> device_errors(KernelLog::Position since, const Devices& devices);
  // Calls `listener` for each of these errors.
  void report_device_errors(KernelLog::Position since, const Devices& devices, const AttemptEnded& event);
  using OnDeviceError = std::function<void(const DeviceError&, const AttemptEnded&)>;
  void listen(OnDeviceError listener) { listener_ = std::move(listener); }
  // Returns the errors since then of all devices that had a call.
  std::vector<DeviceError> late_device_errors();

  // Fills in `event.diagnosis` and corrects its verdict, but only for a bad verdict that the runner did not
  // cause itself. If the kernel log cannot be read, this is reported once.
  // `oom_kills`: of the case's own cgroup.
  void judge(KernelLog::Position since, const Devices& devices, AttemptEnded& event, EventSink& sink,
             std::uint64_t oom_kills = 0);

 private:
  std::vector<std::string> gaps(const KernelLog::Lines& window, const Devices& devices,
                                bool was_killed) const;

  std::string killed_for_memory(std::uint64_t oom_kills);

  // The log has been searched for errors of the device up to `end`.
  struct Searched {
    std::string pci;
    KernelLog::Position end = 0;
  };

  KernelLog log_;
  std::map<std::string, Searched> searched_;             // by id of the device
  OnDeviceError listener_;                               // may be empty
  std::uint64_t machine_oom_kills_ = count_oom_kills();  // of which a SIGKILL has been explained
  bool reported_ = false;
};

}  // namespace proctor
