// The plan as the first event of a run, how many cases may run at once, and how many descriptors they need.
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

// ---- Descriptors ----
// A run that meets the limit half way would blame its cases for it.

// For `jobs` cases at once, of which the largest has `ranks` processes of its own. More than is ever used, by a little
// (harness/e2e/record.py runs with just that).
int open_files_needed(int jobs, int ranks);

// How many cases at once the limit allows for.
int most_jobs_with_open_files();

// A usage error that names the limit (`ulimit -n`) and the number that is needed, when it is too low.
Result<void> check_open_files(int jobs, int ranks);

}  // namespace proctor
