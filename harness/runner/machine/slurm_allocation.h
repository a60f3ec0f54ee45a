// Whether the devices that a run may lease are within those that Slurm gave to its job.
//
// Slurm sets the masks of all vendors alike (gres.conf(5), Flags), in ordinals of the node, and counts per node. The
// masks are what narrows the devices, as everywhere (harness/devices/caller_devices.h): the driver counts in the same way,
// also where Slurm hides the other devices by a cgroup (ConstrainDevices) and counts those that are left from 0. What
// Slurm says otherwise only checks the result:
//
//   SLURM_GPUS_ON_NODE      how many devices the job or step has on this node; its masks leave no more
//   SLURM_STEP_GPUS         the node's own numbers of those of a step, whatever a cgroup renumbers
//   SLURM_JOB_GPUS          the same of a batch script; a step inherits it
//
// A mask with ordinals names numbers of SLURM_STEP_GPUS, where more devices can be seen than the job has. A job without
// any of these variables got no device by number: Slurm does not manage them there, or nobody asked for one.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/environment.h"
#include "harness/runner/machine/found_devices.h"

namespace proctor {

// A usage error names the variables that contradict each other, or the devices that are too many.
Result<void> check_slurm_allocation(const FoundDevices& devices, const Environment& caller);

// Whether the masks of both vendors name devices, although Slurm may have given only one: then those of both vendors
// are to be checked together.
bool slurm_masks_both_vendors(const Environment& caller);

// Whether the caller is a Slurm job without a device by number. Devices of this machine may be those of other jobs.
bool slurm_gave_no_device(const Environment& caller);

}  // namespace proctor
