// The plan as the first event of a run, and how many cases may run at once.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/devices/leases/device_pool.h"
#include "harness/journal/events.h"
#include "harness/plan/plan.h"

namespace proctor {

struct RepeatSetup;

// The CPUs that this process may use.
int usable_cores();

// How many cases run at once, and how many of them may be cases that hold no device: such a case needs a core, the
// others need devices, so that neither wait for the other.
struct Jobs {
  int all = 1;
  int on_cores = 1;
};
// `requested` is the most of both together, whatever the number of cores. 0: as many as make sense.
Jobs effective_jobs(const Plan& plan, const DevicePool& pool, int requested, int cores);

// The sets of devices on each of which the case runs (--each-device); none if it runs on any free ones. A case for several
// devices runs on each run of neighbours in a ring: a ring has few sets, and each device has different partners.
std::vector<std::set<std::string>> devices_to_repeat_on(const DevicePool& pool, const Case& test,
                                                        std::string_view backend, bool each_device);

// Fills in cases, devices, jobs and digest; the rest of RunPlanned, `each_device` too, is the caller's.
void describe_plan(const Plan& plan, const DevicePool& pool, const RepeatSetup& repeats, RunPlanned& planned);

}  // namespace proctor
