// Whether the devices of a run can still be reached. In a container they are lost in ways of which their driver says
// nothing: its host replaces the driver, changes MIG, or loads the device rules of the cgroup anew. What was wrong before
// the run is named where devices are missing from the start; later only what became wrong in the run.
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

class DeviceAccess {
 public:
  // The machine's files are below `root`. `library_path` is the caller's LD_LIBRARY_PATH.
  DeviceAccess(std::string root, std::string library_path);

  // For a backend that lacks devices before the run.
  std::vector<Warning> why_missing(Backend backend) const;
  // One sentence about what keeps a device from this run that it had; "" nothing does.
  std::string why_lost(const std::string& backend) const;
  // The same after the last case, for the backends of which a device was lost or a case failed.
  std::vector<Warning> why_lost(const ResolvedRun& run) const;

 private:
  HostFindings faults(Backend backend) const;
  HostFindings new_faults(Backend backend) const;

  std::string root_;
  std::string library_path_;
  std::set<std::string> before_{};  // the sentences about what was wrong then
};

}  // namespace proctor::runner
