// Judges a bad attempt with what only the runner has: the kernel log of its time, the addresses of its
// devices, and who else runs here (harness/classify/).
#pragma once

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
  std::string gap;                 // why there may be more, with how to allow it; or ""
};

class Diagnoser {
 public:
  using Devices = std::vector<LeasedAddress>;

  explicit Diagnoser(KernelLog log = KernelLog::from_environment()) : log_(std::move(log)) {}

  // The devices that PROCTOR_DEVICES names. Of simulated ones the host's kernel log says nothing: they have
  // no address unless a file stands in for it.
  Devices devices_in(const std::vector<std::string>& environment) const;

  // Where an attempt's time begins.
  KernelLog::Mark mark() { return log_.mark(); }

  KernelEvidence evidence(KernelLog::Mark since, const Devices& devices);

  // Fills in `event.diagnosis` and corrects its verdict: only of a bad verdict that is not the runner's own
  // doing. That the kernel log cannot be read is told once.
  void judge(KernelLog::Mark since, const Devices& devices, AttemptEnded& event, EventSink& sink);

 private:
  std::vector<std::string> gaps(const KernelLog::Lines& window, const Devices& devices,
                                bool was_killed) const;

  KernelLog log_;
  bool told_ = false;
};

}  // namespace proctor
