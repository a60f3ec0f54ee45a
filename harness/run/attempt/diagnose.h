// Judges a bad attempt (harness/classify/) with data that only the runner has: the kernel log of its time,
// the addresses of its devices, and the other processes here.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/events.h"
#include "harness/evidence/kernel_log.h"

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

  // Fills in `event.diagnosis` and corrects its verdict, but only for a bad verdict that the runner did not
  // cause itself. If the kernel log cannot be read, this is reported once.
  // `oom_kills`: of the case's own cgroup.
  void judge(KernelLog::Position since, const Devices& devices, AttemptEnded& event, EventSink& sink,
             std::uint64_t oom_kills = 0);

 private:
  std::vector<std::string> gaps(const KernelLog::Lines& window, const Devices& devices,
                                bool was_killed) const;

  std::string killed_for_memory(std::uint64_t oom_kills);

  KernelLog log_;
  std::uint64_t machine_oom_kills_ = count_oom_kills();  // of which a SIGKILL has been explained
  bool told_ = false;
};

}  // namespace proctor
