// Detects why a run cannot reach its devices. A container can lose its devices without an error of the driver: its host
// replaces the driver, changes MIG, or reloads the device rules of the cgroup. place() creates one DeviceAccess per
// run.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/doctor/examine_host.h"
#include "harness/journal/events.h"

namespace proctor {
struct ResolvedRun;
}

namespace proctor::runner {

// Reads the access faults of the host (harness/doctor) when it is created, and again on each call. It compares the two.
class DeviceAccess {
 public:
  // `root` is the directory that contains the machine's files. `library_path` is the caller's LD_LIBRARY_PATH.
  DeviceAccess(std::string root, std::string library_path);

  // Returns a warning for each access fault of a backend that lacks devices before the run.
  std::vector<Warning> why_missing(Backend backend) const;
  // Returns one sentence about a fault that began during the run and blocks the devices of `backend`, or "".
  std::string why_lost(const std::string& backend) const;
  // Returns warnings about such faults after the last case. It covers only backends with a lost device, a skipped case
  // or a failed case.
  std::vector<Warning> why_lost(const ResolvedRun& run) const;

 private:
  HostFindings faults(Backend backend) const;
  HostFindings new_faults(Backend backend) const;

  std::string root_;
  std::string library_path_;
  std::set<std::string> before_{};  // sentences about the faults at creation
};

}  // namespace proctor::runner
