// The fourth step of a run: the devices of this machine that its cases get, and how many run at once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "harness/devices/leases/lease.h"
#include "harness/runner/device_access.h"
#include "harness/runner/machine/found_devices.h"
#include "harness/runner/plan_step.h"
#include "harness/runner/schedule/describe_plan.h"

namespace proctor::runner {

struct Placed {
  PlannedRun planned;  // without the cases of other shards, its programs chosen for the driver that is here
  std::optional<Part> part{};  // of a plan for several machines
  FoundDevices devices{};
  std::map<std::string, std::string> pins{};  // id of a case -> the only device that it gets
  const LeaseDirectory* leases = nullptr;     // null: nobody else sees the devices
  Jobs jobs{};
  std::unique_ptr<const DeviceAccess> access{};  // null: no case needs a device of this machine
};

Result<Placed> place(const Checked& checked, PlannedRun planned);

}  // namespace proctor::runner
