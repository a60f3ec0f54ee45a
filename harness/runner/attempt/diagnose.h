// Diagnoses a bad attempt (harness/classify) with data that only the runner has: the kernel log of its time, the
// addresses of its devices, and the other processes of the machine. It also finds errors of the devices in the kernel
// log, for good attempts too. CaseObserver calls it.
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

// A device of an attempt, with its PCI address.
struct LeasedAddress {
  std::string id;
  std::string pci;  // "": unknown
};

// Kernel log lines for the evidence of an attempt.
struct KernelEvidence {
  std::vector<std::string> lines;  // about the devices, since the given position
  std::string gap;                 // why lines may be missing, with a remedy; "": none are missing
};

// Returns the number of OOM kills since the machine started (oom_kill of /proc/vmstat).
std::uint64_t count_oom_kills();

class Diagnoser {
 public:
  using Devices = std::vector<LeasedAddress>;

  explicit Diagnoser(KernelLog log = KernelLog::from_environment()) : log_(std::move(log)) {}

  // Returns the devices that PROCTOR_DEVICES names. The kernel log of the host has no lines about simulated devices, so
  // these have no address unless a file replaces the log.
  Devices devices_in(const std::vector<std::string>& environment) const;

  // Returns the current end of the log, as the start of an attempt's time.
  KernelLog::Position position() { return log_.position(); }

  KernelEvidence evidence(KernelLog::Position since, const Devices& devices);

  // Returns the errors of each device since the last call for this device, or since `since` at the first call. It reads
  // the log once for each device with an address.
  std::vector<DeviceError> device_errors(KernelLog::Position since, const Devices& devices);
  // Calls `listener` for each of these errors.
  void report_device_errors(KernelLog::Position since, const Devices& devices, const AttemptEnded& event);
  using OnDeviceError = std::function<void(const DeviceError&, const AttemptEnded&)>;
  void listen(OnDeviceError listener) { listener_ = std::move(listener); }
  // Returns the errors of all such devices since their last call.
  std::vector<DeviceError> late_device_errors();

  // Sets `event.diagnosis` and corrects the verdict. It acts only on a bad verdict that the runner did not cause
  // itself. If the kernel log cannot be read, this is reported once. `oom_kills` is the count of the cgroup of the
  // case.
  void judge(KernelLog::Position since, const Devices& devices, AttemptEnded& event, EventSink& sink,
             std::uint64_t oom_kills = 0);

 private:
  std::vector<std::string> gaps(const KernelLog::Lines& window, const Devices& devices,
                                bool was_killed) const;

  std::string killed_for_memory(std::uint64_t oom_kills);

  // The log was searched for errors of the device up to `end`.
  struct Searched {
    std::string pci;
    KernelLog::Position end = 0;
  };

  KernelLog log_;
  std::map<std::string, Searched> searched_;             // by id of the device
  OnDeviceError listener_;                               // may be empty
  std::uint64_t machine_oom_kills_ = count_oom_kills();  // the count up to which SIGKILLs are explained
  bool reported_ = false;
};

}  // namespace proctor
