// The fourth step of a run: it assigns the devices of this machine to the plan, and determines how many cases run at
// once.
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

// The result of the fourth step.
struct Placed {
  PlannedRun planned;  // has only the cases of this shard, and the programs that fit the installed driver
  std::optional<Part> part{};  // the part of a plan for several machines
  FoundDevices devices{};
  std::map<std::string, std::string> pins{};  // id of a case -> the only device that it gets
  const LeaseDirectory* leases = nullptr;     // null: no other run can see the devices
  Jobs jobs{};
  std::unique_ptr<const DeviceAccess> access{};  // null: no case needs a device of this machine
};

// Finds the devices, and refuses a plan that cannot run on them. Some missing devices only cause a warning.
Result<Placed> place(const Checked& checked, PlannedRun planned);

}  // namespace proctor::runner
