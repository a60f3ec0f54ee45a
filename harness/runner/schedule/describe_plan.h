// Facts that follow from a plan and the devices: the first event of the run, the number of concurrent cases, and the
// number of descriptors that they need. The steps of a run call these functions.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/leases/device_pool.h"
#include "harness/journal/events.h"
#include "harness/plan/plan.h"

namespace proctor {

struct RepeatSetup;

// Returns the number of CPUs that this process may use.
int usable_cores();

// The number of concurrent cases. `on_cores` limits those without a device. Such a case needs a core, and the others
// need devices, so the two kinds do not wait for each other.
struct Jobs {
  int all = 1;
  int on_cores = 1;
};
// `requested` is the limit of both kinds together, whatever the number of cores. 0: computed from devices and cores.
Jobs effective_jobs(const Plan& plan, const DevicePool& pool, int requested, int cores);

// Returns the sets of devices on each of which the case runs (--each-device). The result is empty if the case runs on
// any free devices. A case for several devices runs on each sequence of neighbours in a ring. A ring has few sets, and
// each device has different partners.
std::vector<std::set<std::string>> devices_to_repeat_on(const DevicePool& pool, const Case& test,
                                                        std::string_view backend, bool each_device);

// Fills in the cases, devices, filters and digest of `planned`. The caller sets all other members, including
// `each_device`, which must be set before the call.
void describe_plan(const Plan& plan, const DevicePool& pool, const RepeatSetup& repeats, RunPlanned& planned);

// ---- Descriptors ----
// A run that reaches the limit in the middle would report it as failures of its cases.

// Returns the number for `jobs` concurrent cases. `ranks` is the number of ranks of the largest case. The result is
// slightly more than a run uses (harness/e2e/record.py runs with exactly this number).
int open_files_needed(int jobs, int ranks);

// Returns the number of concurrent cases that the limit allows.
int most_jobs_with_open_files();

// If the limit is too low, returns a usage error with the limit (`ulimit -n`) and the number that is needed.
Result<void> check_open_files(int jobs, int ranks);

}  // namespace proctor
