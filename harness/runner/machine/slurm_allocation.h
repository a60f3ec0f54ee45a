// Checks that the devices that a run may lease are within those that Slurm gave to its job. Machine calls it.
//
// Slurm sets the masks of all vendors to the same ordinals of the node, and counts per node (gres.conf(5), Flags). The
// masks narrow the devices, as in every run (harness/devices/caller_devices.h). The driver counts in the same way, even
// if Slurm hides other devices through a cgroup (ConstrainDevices) and counts the visible ones from 0. The other
// variables of Slurm only check the result:
//
//   SLURM_GPUS_ON_NODE      the number of devices of the job or step on this node; its masks allow no more
//   SLURM_STEP_GPUS         the node's numbers of the devices of a step, whatever a cgroup renumbers
//   SLURM_JOB_GPUS          the same for a batch script; a step inherits it
//
// If more devices are visible than the job has, the ordinals of a mask must be numbers of SLURM_STEP_GPUS. A job
// without any of these variables got no device by number: Slurm does not manage them there, or none was requested.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/environment.h"
#include "harness/runner/machine/found_devices.h"

namespace proctor {

// A usage error names the variables that contradict each other, or the excess devices.
Result<void> check_slurm_allocation(const FoundDevices& devices, const Environment& caller);

// Returns whether the masks of both vendors name devices. Slurm may have given only one, so the devices of both vendors
// must be checked together.
bool slurm_masks_both_vendors(const Environment& caller);

// Returns whether the caller is a Slurm job without a device by number. Devices of this machine may belong to other
// jobs.
bool slurm_gave_no_device(const Environment& caller);

}  // namespace proctor
